package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
)

// Watch records disturbances of a cell from the moment it is made.
type Watch struct {
	cluster   *Cluster
	namespace string
	known     map[string]podState
	nodes     map[string]string
	found     []record.Disturbance
}

type podState struct {
	uid      string
	restarts int32
	evicted  bool
	// unexplained counts the looks at a restart that the pod gives no reason for yet.
	unexplained int
}

// looksForReason is how often a restart is looked at until its reason is there. A kubelet
// that is busy counts the restart first.
const looksForReason = 10

// Watched measures a cell and writes what disturbed its stack meanwhile into its folder.
func (c *Cluster) Watched(ctx context.Context, namespace, dir string, talk io.Writer, measure func() error) error {
	watch, err := c.newWatch(ctx, namespace)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch.run(watching)
	}()
	err = measure()
	stop()
	<-watched
	if _, ended := errors.AsType[cli.StatusError](err); err != nil && !ended {
		return err
	}
	if err := watch.last(ctx); err != nil {
		return err
	}
	for _, d := range watch.found {
		fmt.Fprintf(talk, "disturbed: %s of %s %s\n", d.Kind, d.Object, d.Detail)
	}
	return errors.Join(err, cli.WriteFile(nil, filepath.Join(dir, record.DisturbancesFile), func(w io.Writer) error {
		return record.WriteDisturbances(w, watch.found)
	}))
}

// last looks for the last time, when an API server that was away must be back.
func (w *Watch) last(ctx context.Context) error {
	return await(ctx, io.Discard, "the pods of the cell", func(ctx context.Context) (string, error) {
		if err := w.look(ctx, time.Now()); err != nil {
			return "", err
		}
		for name, state := range w.known {
			if state.unexplained > 0 {
				return "pod " + name + " does not say why it was restarted", errNotYet
			}
		}
		return "", nil
	})
}

// newWatch takes down how the cell is now.
func (c *Cluster) newWatch(ctx context.Context, namespace string) (*Watch, error) {
	w := &Watch{cluster: c, namespace: namespace, known: map[string]podState{}, nodes: map[string]string{}}
	if err := w.look(ctx, time.Now()); err != nil {
		return nil, err
	}
	w.found = nil // what happened before the measurement is not a disturbance of it
	return w, nil
}

// run looks every now and then until ctx ends. An API server that is away is no end:
// what happened meanwhile still shows in the counts of restarts when it is back.
func (w *Watch) run(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// An error is seen again, and reported, at the last look.
			_ = w.look(ctx, time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// look compares the pods and nodes with those of the last look.
func (w *Watch) look(ctx context.Context, now time.Time) error {
	pods, err := w.cluster.pods(ctx, w.namespace, "!"+labelJob)
	if err != nil {
		return err
	}
	present := map[string]bool{}
	for _, pod := range pods {
		present[pod.Name] = true
		w.pod(pod, now)
	}
	for name := range w.known {
		if !present[name] {
			w.add(now, "gone", "pod "+name, "")
			delete(w.known, name)
		}
	}
	nodes, err := w.cluster.list(ctx, kindNode, "", "")
	if err != nil {
		return nil // the right to see nodes is not one that a namespace's owner has
	}
	for _, n := range nodes {
		state := pressure(&n)
		if before, ok := w.nodes[n.GetName()]; ok && state != before && state != "" {
			w.add(now, "node", n.GetName(), state)
		}
		w.nodes[n.GetName()] = state
	}
	return nil
}

func (w *Watch) pod(pod corev1.Pod, now time.Time) {
	state := podState{uid: string(pod.UID), evicted: pod.Status.Reason == "Evicted"}
	oom := ""
	for _, s := range pod.Status.ContainerStatuses {
		state.restarts += s.RestartCount
		if t := s.LastTerminationState.Terminated; t != nil && t.Reason == "OOMKilled" {
			oom = s.Name
		}
	}
	before, seen := w.known[pod.Name]
	w.known[pod.Name] = state
	switch {
	case !seen:
		if len(w.known) > 1 && w.found != nil {
			w.add(now, "new", "pod "+pod.Name, "")
		}
	case state.restarts > before.restarts && oom != "":
		w.add(now, "oom-killed", "pod "+pod.Name, "container "+oom)
	case state.restarts > before.restarts && restartReason(pod) == "" && before.unexplained < looksForReason:
		before.unexplained++
		w.known[pod.Name] = before
	case state.restarts > before.restarts:
		w.add(now, "restart", "pod "+pod.Name, restartReason(pod))
	case state.evicted && !before.evicted:
		w.add(now, "evicted", "pod "+pod.Name, pod.Status.Message)
	}
}

func restartReason(pod corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if t := s.LastTerminationState.Terminated; t != nil {
			return fmt.Sprintf("container %s: %s, exit code %d", s.Name, t.Reason, t.ExitCode)
		}
	}
	return ""
}

func (w *Watch) add(at time.Time, kind, object, detail string) {
	w.found = append(w.found, record.Disturbance{At: at.UTC().Truncate(time.Millisecond), Kind: kind, Object: object, Detail: detail})
}

// pressure names the conditions in which a node evicts pods or runs none.
func pressure(node *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	text := ""
	for _, item := range conditions {
		c, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if healthy := c["type"] == "Ready"; (c["status"] == "True") != healthy {
			text += fmt.Sprint(c["type"], " is ", c["status"], " ")
		}
	}
	return text
}
