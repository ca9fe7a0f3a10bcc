package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"bgbench/pkg/archive"
)

// loadPods waits for the pods of the Job until look is content with each.
func (c *Cluster) loadPods(ctx context.Context, o LoadOptions, what string, look func(corev1.Pod) bool) ([]corev1.Pod, error) {
	var found []corev1.Pod
	err := await(ctx, o.Talk, what, func(ctx context.Context) (string, error) {
		pods, err := c.pods(ctx, o.Stack.Kube.Namespace, labelJob+"="+loadJob)
		if err != nil {
			return "", err
		}
		if want := max(1, o.Shards); len(pods) < want {
			return fmt.Sprintf("the Job has %d of %d pods", len(pods), want), errNotYet
		}
		found = pods
		state := ""
		for _, pod := range pods {
			if look(pod) {
				continue
			}
			if container, reason := stuck(pod); reason != "" {
				return "", c.explain(ctx, "load generator", pod, container, reason)
			}
			if pod.Status.Phase == corev1.PodFailed {
				return "", c.explain(ctx, "load generator", pod, "", "it failed: "+pod.Status.Message)
			}
			state = pod.Name + ": " + waiting(pod)
		}
		if state != "" {
			return state, errNotYet
		}
		return "", nil
	})
	return found, err
}

// togetherAfter is how long after the last inputs shards begin: their containers start
// meanwhile.
const togetherAfter = 30 * time.Second

// deliverInputs copies descriptor and inputs onto the volumes. When the pods are past
// that already, they are there. The file that ends the delivery says when shards begin.
func (c *Cluster) deliverInputs(ctx context.Context, o LoadOptions) error {
	past := 0
	pods, err := c.loadPods(ctx, o, "the load generator's pods", func(pod corev1.Pod) bool {
		received, receiving := receives(pod)
		return received || receiving
	})
	for _, pod := range pods {
		if received, _ := receives(pod); received {
			past++
		}
	}
	switch {
	case err != nil || past == len(pods):
		return err
	case past > 0:
		return fmt.Errorf("load generator: found inputs in %d of %d pods that were to begin together: end the cell", past, len(pods))
	}
	descriptor, err := o.Stack.JSON()
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if err := c.put(ctx, pod, []archive.Entry{{Name: "stack.json", Content: descriptor}, {Name: "trial", Path: o.Inputs}}); err != nil {
			return err
		}
	}
	whole := archive.Entry{Name: filepath.Base(inputsWhole)} // last: what was cut off is not whole
	if o.sharded() {
		whole.Content = []byte(time.Now().Add(togetherAfter).UTC().Format(time.RFC3339))
	}
	for _, pod := range pods {
		if err := c.put(ctx, pod, []archive.Entry{whole}); err != nil {
			return err
		}
	}
	return nil
}

// receives reports whether a pod has its inputs, or waits for them.
func receives(pod corev1.Pod) (received, receiving bool) {
	for _, s := range pod.Status.InitContainerStatuses {
		received = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		receiving = s.State.Running != nil
	}
	return received, receiving
}

func (c *Cluster) put(ctx context.Context, pod corev1.Pod, files []archive.Entry) error {
	read, write := io.Pipe()
	go func() { write.CloseWithError(archive.Write(write, files)) }()
	defer read.Close()
	return c.run(ctx, pod.Namespace, pod.Name, receiver, []string{"/bg-deploy", "files", "put", inputsDir}, read, nil)
}

// awaitLoad waits until all generators have ended and returns the highest exit code.
func (c *Cluster) awaitLoad(ctx context.Context, o LoadOptions) (status int, err error) {
	_, err = c.loadPods(ctx, o, "the load generator", func(pod corev1.Pod) bool {
		for _, s := range pod.Status.ContainerStatuses {
			if s.Name == generator && s.State.Terminated != nil {
				status = max(status, int(s.State.Terminated.ExitCode))
				return true
			}
		}
		return false
	})
	return status, err
}

// collect fetches the results and lets the pods end. The logs of the generators come
// with them.
func (c *Cluster) collect(ctx context.Context, o LoadOptions) error {
	pods, err := c.loadPods(ctx, o, "the results", func(corev1.Pod) bool { return true })
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return fmt.Errorf("making the folder of the cell: %w", err)
	}
	for i, pod := range pods {
		name := "load.log"
		if o.sharded() {
			name = fmt.Sprintf("load-%d.log", i+1)
		}
		if err := c.collectFrom(ctx, o, pod, filepath.Join(o.Output, name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) collectFrom(ctx context.Context, o LoadOptions, pod corev1.Pod, logFile string) error {
	log, err := c.logs(ctx, pod.Namespace, pod.Name, generator, 0, false)
	if err != nil {
		return err
	}
	if err := os.WriteFile(logFile, []byte(log), 0o644); err != nil {
		return fmt.Errorf("writing the log of the load generator: %w", err)
	}
	fmt.Fprintln(o.Talk, strings.TrimRight(log, "\n"))
	read, write := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := archive.Read(read, o.Output)
		read.CloseWithError(err)
		unpacked <- err
	}()
	err = c.run(ctx, pod.Namespace, pod.Name, deliverer, []string{"/bg-deploy", "files", "get", cellDir}, nil, write)
	write.CloseWithError(err)
	if err := errors.Join(err, <-unpacked); err != nil {
		return err
	}
	return c.run(ctx, pod.Namespace, pod.Name, deliverer, []string{"/bg-deploy", "files", "touch", resultsTaken}, nil, nil)
}
