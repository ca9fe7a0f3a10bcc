//go:build kube

package kube

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestARouterBehindAGatewayServes(t *testing.T) {
	t.Parallel()
	root, c := admin(t), account(t)
	cell := cellFor(t, "s3-admission-aimd", asked{namespace: "gateway", options: Options{Router: RouterGateway}})
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 10*time.Minute)
	taken := make(chan error, 1)
	go func() { taken <- takeGateway(ctx, root, cell) }()
	stack, err := c.Start(ctx, cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if want := "http://llm-d-inference-gateway-istio.gateway.svc:80"; stack.InferenceURL != want {
		t.Errorf("the stack is entered at %s, expected %s", stack.InferenceURL, want)
	}
	route, err := root.get(ctx, kindHTTPRoute, cell.Namespace, routerRelease)
	if err != nil || route == nil {
		t.Fatalf("found no route: %v", err)
	}
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	if rule := rules[0].(map[string]any); fmt.Sprint(rule["timeouts"]) != "map[request:24h]" {
		t.Errorf("found timeouts %v, expected 24h a request", rule["timeouts"])
	}
}

// takeGateway does what an implementation of the Gateway's class does: it puts a Service
// before its proxy, which is here the emulated router, and says so.
func takeGateway(ctx context.Context, root *Cluster, cell Cell) error {
	err := await(ctx, io.Discard, "the Gateway", func(ctx context.Context) (string, error) {
		if o, err := root.get(ctx, kindGateway, cell.Namespace, gatewayName); err != nil || o != nil {
			return "", err
		}
		return "there is none", errNotYet
	})
	if err != nil {
		return err
	}
	service, port := cell.front()
	err = applyAll(ctx, root, fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\n"+
		"spec: {selector: {inferencepool: %s}, ports: [{port: %d, targetPort: %d}]}\n", service, cell.Namespace, routerName, port, routerPort))
	if err != nil {
		return err
	}
	return root.raw.Patch(types.MergePatchType).
		AbsPath("/apis/gateway.networking.k8s.io/v1/namespaces", cell.Namespace, "gateways", gatewayName, "status").
		Body([]byte(`{"status": {"conditions": [{"type": "Programmed", "status": "True", "reason": "Programmed", "message": "a test took it"}]}}`)).
		Do(ctx).Error()
}
