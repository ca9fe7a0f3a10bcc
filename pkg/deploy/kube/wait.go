package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// askEvery is the pause between two looks at what somebody waits for; talkEvery between
// two lines that say what it is.
const (
	askEvery  = 500 * time.Millisecond
	talkEvery = 10 * time.Second
)

// rightsReturn is how long after it was away an API server may refuse what it allowed before:
// it answers from the first second on, and denies all until it has read the roles
// (k8s.io/kubernetes, plugin/pkg/auth/authorizer/rbac: its informers begin empty).
const rightsReturn = 30 * time.Second

// errNotYet is what a look returns while waiting goes on.
var errNotYet = errors.New("not yet")

// await looks until look returns something else than errNotYet. An API server that is
// away for a while does not end it, the end of ctx does, with the last that look said.
func await(ctx context.Context, talk io.Writer, what string, look func(context.Context) (state string, err error)) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var said, away time.Time
	state := ""
	for {
		now, err := look(ctx)
		if lost(err) {
			away = time.Now()
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errNotYet):
			state = now
		case ctx.Err() == nil && (lost(err) || apierrors.IsForbidden(err) && time.Since(away) < rightsReturn):
			state = err.Error()
		case ctx.Err() == nil:
			return err
		}
		if time.Since(said) >= talkEvery {
			if !said.IsZero() {
				fmt.Fprintf(talk, "waiting for %s: %s\n", what, state)
			}
			said = time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %s", what, context.Cause(ctx), state)
		}
	}
}

// awaitReady waits until the workloads among objects have all their pods ready, those
// that KServe makes among them, and Gateways their proxy.
func (c *Cluster) awaitReady(ctx context.Context, talk io.Writer, step string, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		look := func(ctx context.Context) (string, error) { return c.lookAt(ctx, step, o) }
		switch o.GetKind() {
		case kindDeployment.Kind, kindStatefulSet.Kind:
		case kindGateway.Kind:
			look = func(ctx context.Context) (string, error) { return c.lookAtGateway(ctx, o) }
		case kindLLMInferenceService.Kind:
			look = func(ctx context.Context) (string, error) { return c.lookAtLLMInferenceService(ctx, step, o) }
		default:
			continue
		}
		if err := await(ctx, talk, step, look); err != nil {
			return err
		}
	}
	return nil
}

// lookAt is one look at a Deployment or StatefulSet.
func (c *Cluster) lookAt(ctx context.Context, step string, o *unstructured.Unstructured) (string, error) {
	live, err := c.get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	if err != nil {
		return "", err
	}
	if live == nil {
		return "", fmt.Errorf("%s: %s has gone", step, title(o))
	}
	want, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	updated, _, _ := unstructured.NestedInt64(live.Object, "status", "updatedReplicas")
	served, _, _ := unstructured.NestedInt64(live.Object, "status", "readyReplicas")
	all, _, _ := unstructured.NestedInt64(live.Object, "status", "replicas")
	if observed >= live.GetGeneration() && updated == want && served == want && all == want {
		return "", nil
	}
	selector, err := selectorOf(live)
	if err != nil {
		return "", err
	}
	pods, err := c.pods(ctx, o.GetNamespace(), selector)
	if err != nil {
		return "", err
	}
	state := fmt.Sprintf("%s has %d of %d pods ready", title(o), served, want)
	for _, pod := range pods {
		if container, reason := stuck(pod); reason != "" {
			return "", c.explain(ctx, step, pod, container, reason)
		}
		if !ready(pod) && pod.Status.Phase != corev1.PodSucceeded {
			state = fmt.Sprintf("%s, %s: %s", state, pod.Name, waiting(pod))
		}
	}
	return state, errNotYet
}

// selectorOf is the selector of a workload's pods.
func selectorOf(o *unstructured.Unstructured) (string, error) {
	match, _, err := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	if err != nil || len(match) == 0 {
		return "", fmt.Errorf("%s: found no selector of labels", title(o))
	}
	return labels.FormatLabels(match), nil
}

// foreground deletes an object after what it owns.
var foreground = metav1.DeletePropagationForeground
