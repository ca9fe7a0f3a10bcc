package tunnel

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
)

// Service is a port of a Service.
type Service struct{ Namespace, Name, Port string }

// ParseService reads NAMESPACE/NAME:PORT, where the port is a number or a name.
func ParseService(text string) (Service, error) {
	namespace, rest, _ := strings.Cut(text, "/")
	name, port, _ := strings.Cut(rest, ":")
	if namespace == "" || name == "" || port == "" || strings.ContainsAny(rest, "/") || strings.Contains(port, ":") {
		return Service{}, fmt.Errorf("found %q, expected NAMESPACE/NAME:PORT such as monitoring/prometheus:9090", text)
	}
	return Service{namespace, name, port}, nil
}

func (s Service) String() string { return s.Namespace + "/" + s.Name + ":" + s.Port }

// Pod is a port of a pod.
type Pod struct {
	Namespace, Name string
	Port            int
}

func (p Pod) String() string { return fmt.Sprintf("%s/%s:%d", p.Namespace, p.Name, p.Port) }

// find is the pod itself, whether it is there or not.
func (p Pod) find(context.Context, dynamic.Interface) (Pod, error) { return p, nil }

// find picks a ready pod behind the Service.
func (s Service) find(ctx context.Context, client dynamic.Interface) (Pod, error) {
	o, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return Pod{}, fmt.Errorf("finding service %s: %w", s, err)
	}
	var service corev1.Service
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &service); err != nil {
		return Pod{}, fmt.Errorf("finding service %s: %w", s, err)
	}
	port, ok := s.of(service)
	if !ok || len(service.Spec.Selector) == 0 {
		return Pod{}, fmt.Errorf("service %s/%s: found no port %s before pods", s.Namespace, s.Name, s.Port)
	}
	list, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(s.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: labels.FormatLabels(service.Spec.Selector)})
	if err != nil {
		return Pod{}, fmt.Errorf("finding a pod of service %s: %w", s, err)
	}
	for _, item := range list.Items {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &pod); err != nil {
			return Pod{}, fmt.Errorf("finding a pod of service %s: %w", s, err)
		}
		if number, ok := portOf(pod, port); ok && ready(pod) {
			return Pod{pod.Namespace, pod.Name, number}, nil
		}
	}
	return Pod{}, fmt.Errorf("service %s: found no ready pod among %d", s, len(list.Items))
}

// of is the port of the pods that stands behind ours.
func (s Service) of(service corev1.Service) (intstr.IntOrString, bool) {
	for _, p := range service.Spec.Ports {
		if strconv.Itoa(int(p.Port)) != s.Port && p.Name != s.Port {
			continue
		}
		if p.TargetPort == (intstr.IntOrString{}) {
			return intstr.FromInt32(p.Port), true
		}
		return p.TargetPort, true
	}
	return intstr.IntOrString{}, false
}

func portOf(pod corev1.Pod, port intstr.IntOrString) (int, bool) {
	if port.Type == intstr.Int {
		return port.IntValue(), true
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				return int(p.ContainerPort), true
			}
		}
	}
	return 0, false
}

func ready(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
