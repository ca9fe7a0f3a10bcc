package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ways in which the router may stand before the pool.
const (
	RouterStandalone = "standalone" // endpoint picker and Envoy in one pod
	RouterGateway    = "gateway"    // endpoint picker behind a Gateway of the cluster's
)

const (
	gatewayName         = "llm-d-inference-gateway" // as in llm-d's guides
	gatewayPort         = 80
	defaultGatewayClass = "istio"
	// neverCut is longer than any request waits. The chart's default of 300 s would cut
	// batch requests that queue (llm-d-router v0.10, gateway chart).
	neverCut = "24h"
)

var (
	kindGateway   = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"}
	kindHTTPRoute = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
)

// inferenceGateway is the Gateway that the route of the router's chart hangs on. Who
// implements its class makes the proxy and a Service before it.
func (c Cell) inferenceGateway() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kindGateway.GroupVersion().String(),
		"kind":       kindGateway.Kind,
		"metadata": map[string]any{
			"name": gatewayName,
			// Nobody outside the cluster needs it; a load balancer may never come.
			"annotations": map[string]any{"networking.istio.io/service-type": "ClusterIP"},
		},
		"spec": map[string]any{
			"gatewayClassName": c.GatewayClass,
			"listeners": []any{map[string]any{
				"name": "http", "port": int64(gatewayPort), "protocol": "HTTP",
				"allowedRoutes": map[string]any{"namespaces": map[string]any{"from": "Same"}},
			}},
		},
	}}
}

// front is the Service and port at which requests enter the stack.
func (c Cell) front() (service string, port int) {
	switch {
	case !c.hasRouter():
		return engineName, enginePort
	case c.Router == RouterGateway:
		return gatewayName + "-" + c.GatewayClass, gatewayPort // as Istio names it
	}
	return routerName, routerPort
}

// lookAtGateway is one look at a Gateway.
func (c *Cluster) lookAtGateway(ctx context.Context, o *unstructured.Unstructured) (string, error) {
	live, err := c.get(ctx, kindGateway, o.GetNamespace(), o.GetName())
	if err != nil {
		return "", err
	}
	if live == nil {
		return "", fmt.Errorf("%s has gone", title(o))
	}
	switch status, why, ok := condition(live, "Programmed"); {
	case !ok:
		return title(o) + " is not programmed: nobody has taken its class yet", errNotYet
	case status != "True":
		return title(o) + " is not programmed: " + why, errNotYet
	}
	return "", nil
}
