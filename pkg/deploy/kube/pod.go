package kube

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pods lists the pods of the namespace by name.
func (c *Cluster) pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	items, err := c.list(ctx, kindPod, namespace, selector)
	if err != nil {
		return nil, err
	}
	pods := make([]corev1.Pod, len(items))
	for i := range items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &pods[i]); err != nil {
			return nil, fmt.Errorf("reading pod %s: %w", items[i].GetName(), err)
		}
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// stuck says why a pod will not become ready by waiting, nothing when it may.
func stuck(pod corev1.Pod) (container, reason string) {
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil {
			switch w.Reason {
			case "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerError", "RunContainerError", "CrashLoopBackOff":
				return s.Name, w.Reason + ": " + ended(s) + w.Message
			}
		}
	}
	return "", ""
}

// ended says how the container ended the last time, if it did.
func ended(s corev1.ContainerStatus) string {
	t := s.LastTerminationState.Terminated
	if t == nil {
		t = s.State.Terminated
	}
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%s with exit code %d, ", t.Reason, t.ExitCode)
}

// waiting says what a pod that is not ready waits for, for progress and for the error
// when its time is up.
func waiting(pod corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" {
			return strings.TrimSuffix(s.Name+": "+w.Reason+": "+w.Message, ": ")
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if !s.Ready && s.State.Running != nil {
			return s.Name + ": running, not ready"
		}
	}
	return string(pod.Status.Phase)
}

// ready reports whether the pod serves.
func ready(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// logTail is how many lines of a log an error quotes.
const logTail = 8

// logs reads the log of a container: its last lines, or all with 0. Of a container that
// was restarted it is the log of the run before, which says why.
func (c *Cluster) logs(ctx context.Context, namespace, pod, container string, lines int, previous bool) (string, error) {
	request := c.raw.Get().AbsPath("/api/v1/namespaces", namespace, "pods", pod, "log").Param("container", container)
	if lines > 0 {
		request = request.Param("tailLines", strconv.Itoa(lines))
	}
	if previous {
		request = request.Param("previous", "true")
	}
	text, err := request.DoRaw(ctx)
	return string(text), explained("reading the log of "+pod+"/"+container, err)
}

// events are the last warnings about an object, oldest first.
func (c *Cluster) events(ctx context.Context, namespace, name string) []string {
	items, err := c.list(ctx, kindEvent, namespace, "")
	if err != nil {
		return nil // an aid to understanding, and not what the caller is after
	}
	type event struct {
		at   time.Time
		text string
	}
	var found []event
	for _, item := range items {
		var e corev1.Event
		if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &e) != nil || e.InvolvedObject.Name != name || e.Type != corev1.EventTypeWarning {
			continue
		}
		found = append(found, event{e.LastTimestamp.Time, "event " + e.Reason + ": " + e.Message})
	}
	slices.SortFunc(found, func(a, b event) int { return a.at.Compare(b.at) })
	var texts []string
	for _, e := range found[max(0, len(found)-3):] {
		texts = append(texts, e.text)
	}
	return texts
}

// StuckError is a pod that will not become ready.
type StuckError struct {
	Step, Pod, Container, Reason string
	Details                      []string // events and the last lines of the log
}

func (e *StuckError) Error() string {
	text := fmt.Sprintf("%s: pod %s: %s", e.Step, e.Pod, e.Reason)
	if e.Container != "" {
		text = fmt.Sprintf("%s: pod %s, container %s: %s", e.Step, e.Pod, e.Container, e.Reason)
	}
	for _, d := range e.Details {
		text += "\n  " + d
	}
	return text
}

// explain makes the error for a pod with what its events and its log say.
func (c *Cluster) explain(ctx context.Context, step string, pod corev1.Pod, container, reason string) error {
	e := &StuckError{Step: step, Pod: pod.Name, Container: container, Reason: strings.TrimSpace(reason)}
	e.Details = c.events(ctx, pod.Namespace, pod.Name)
	if strings.HasPrefix(reason, "CrashLoopBackOff") {
		if text, err := c.logs(ctx, pod.Namespace, pod.Name, container, logTail, true); err == nil {
			for line := range strings.Lines(text) {
				e.Details = append(e.Details, "log: "+strings.TrimRight(line, "\n"))
			}
		}
	}
	return e
}
