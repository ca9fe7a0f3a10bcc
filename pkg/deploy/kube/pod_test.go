package kube

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bgbench/pkg/record"
)

// podWith is a pod with one container in a state.
func podWith(name string, status corev1.ContainerStatus) corev1.Pod {
	status.Name = "c"
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1"},
		Status:     corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{status}},
	}
}

func TestAPodIsStuckWhenWaitingDoesNotHelp(t *testing.T) {
	for name, tt := range map[string]struct {
		status corev1.ContainerStatus
		want   string
	}{
		"an image that cannot be pulled": {
			corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}},
			"ImagePullBackOff: no such image",
		},
		"the first failure of a pull": {
			corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}, "",
		},
		"a secret that is about to be made": {
			corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}}, "",
		},
		"a container that was killed for its memory, again": {
			corev1.ContainerStatus{
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
			},
			"CrashLoopBackOff: OOMKilled with exit code 137, back-off",
		},
		"one that runs": {corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := stuck(podWith("p", tt.status)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAPodThatWaitsSaysForWhat(t *testing.T) {
	pending := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
	}}}}
	if got := waiting(pending); got != "Unschedulable: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu." {
		t.Error(got)
	}
	starting := podWith("p", corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	if got := waiting(starting); got != "c: running, not ready" {
		t.Error(got)
	}
}

func TestDisturbancesAreTakenDownOnce(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	running := podWith("p", corev1.ContainerStatus{})
	restarted := podWith("p", corev1.ContainerStatus{RestartCount: 1, LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2},
	}})
	killed := podWith("p", corev1.ContainerStatus{RestartCount: 2, LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137},
	}})
	unexplained := podWith("p", corev1.ContainerStatus{RestartCount: 1})
	evicted := running
	evicted.Status.Reason, evicted.Status.Message = "Evicted", "The node was low on resource: memory."
	for name, tt := range map[string]struct {
		seen []corev1.Pod
		want []record.Disturbance
	}{
		"a quiet pod": {[]corev1.Pod{running, running}, nil},
		"a restart":   {[]corev1.Pod{running, restarted, restarted}, []record.Disturbance{{At: at, Kind: "restart", Object: "pod p", Detail: "container c: Error, exit code 2"}}},
		"a restart whose reason comes later": {[]corev1.Pod{running, unexplained, restarted, restarted},
			[]record.Disturbance{{At: at, Kind: "restart", Object: "pod p", Detail: "container c: Error, exit code 2"}}},
		"a restart without a reason": {append([]corev1.Pod{running}, slices.Repeat([]corev1.Pod{unexplained}, 2*looksForReason)...), []record.Disturbance{{At: at, Kind: "restart", Object: "pod p"}}},
		"a kill after a restart": {[]corev1.Pod{running, restarted, killed}, []record.Disturbance{
			{At: at, Kind: "restart", Object: "pod p", Detail: "container c: Error, exit code 2"}, {At: at, Kind: "oom-killed", Object: "pod p", Detail: "container c"},
		}},
		"a restart before the measurement": {[]corev1.Pod{restarted, restarted}, nil},
		"an eviction":                      {[]corev1.Pod{running, evicted, evicted}, []record.Disturbance{{At: at, Kind: "evicted", Object: "pod p", Detail: "The node was low on resource: memory."}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := Watch{known: map[string]podState{}}
			for _, pod := range tt.seen {
				w.pod(pod, at)
			}
			if len(w.found) != len(tt.want) {
				t.Fatalf("got %+v, want %+v", w.found, tt.want)
			}
			for i := range tt.want {
				if w.found[i] != tt.want[i] {
					t.Errorf("got %+v, want %+v", w.found[i], tt.want[i])
				}
			}
		})
	}
}
