package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"bgbench/pkg/deploy"
	"bgbench/pkg/deploy/tunnel"
)

// Outside opens a tunnel to every address of a stack and returns its descriptor for
// tools that run outside the cluster. The tunnels live until end is called.
func (c *Cluster) Outside(ctx context.Context, stack deploy.Stack) (outside deploy.Stack, end func() error, err error) {
	way := ways{cluster: c, ctx: ctx}
	defer func() {
		if err != nil {
			err = errors.Join(err, way.end())
		}
	}()
	pods, err := c.pods(ctx, stack.Kube.Namespace, "")
	if err != nil {
		return stack, nil, err
	}
	for _, pod := range pods {
		way.byIP(pod.Status.PodIP, pod.Name)
	}
	outside = stack
	if outside.InferenceURL, err = way.to(stack.Kube.Namespace, stack.InferenceURL); err != nil {
		return stack, nil, err
	}
	if stack.BatchURL != "" {
		if outside.BatchURL, err = way.to(stack.Kube.Namespace, stack.BatchURL); err != nil {
			return stack, nil, err
		}
	}
	outside.Metrics = nil
	for _, page := range stack.Metrics {
		if page.URL, err = way.to(stack.Kube.Namespace, page.URL); err != nil {
			return stack, nil, err
		}
		outside.Metrics = append(outside.Metrics, page)
	}
	return outside, way.end, nil
}

// ways are open tunnels.
type ways struct {
	cluster *Cluster
	ctx     context.Context
	pods    map[string]string // name by address
	tunnels []*tunnel.Tunnel
}

func (w *ways) byIP(ip, name string) {
	if w.pods == nil {
		w.pods = map[string]string{}
	}
	if ip != "" {
		w.pods[ip] = name
	}
}

// to opens a tunnel to where an address of the cluster leads, and returns the address
// that leads there from here.
func (w *ways) to(namespace, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("descriptor: %w", err)
	}
	end, err := w.find(namespace, u)
	if err != nil {
		return "", err
	}
	t, err := tunnel.Open(w.ctx, w.cluster.config, end)
	if err != nil {
		return "", err
	}
	w.tunnels = append(w.tunnels, t)
	u.Host = t.Addr()
	return u.String(), nil
}

func (w *ways) find(namespace string, u *url.URL) (tunnel.End, error) {
	if name, _, ok := strings.Cut(u.Hostname(), "."+namespace+".svc"); ok {
		return tunnel.Service{Namespace: namespace, Name: name, Port: u.Port()}, nil
	}
	pod, ok := w.pods[u.Hostname()]
	port, err := strconv.Atoi(u.Port())
	if !ok || err != nil {
		return nil, fmt.Errorf("descriptor: found %s, expected a Service of namespace %s or the address of one of its pods", u, namespace)
	}
	return tunnel.Pod{Namespace: namespace, Name: pod, Port: port}, nil
}

func (w *ways) end() error {
	var err error
	for _, t := range w.tunnels {
		err = errors.Join(err, t.Close())
	}
	return err
}
