// Package router models what stands between clients and model servers: a plain
// round-robin gateway, and llm-d's router (the endpoint picker, EPP, v0.10.0).
//
// A router is a sim.Backend over sim.Backends, so it fits between any client and
// any engines. The model's own configuration format is the real one: an
// EndpointPickerConfig in YAML, decoded and refused as the endpoint picker does
// it, so that the file which configures the model configures the cluster.
//
//	r, err := router.New(k, router.Config{
//		EndpointPicker: text,
//		Objectives:     map[string]int{"interactive": 100, "batch": -1},
//		DispatchLag:    router.DefaultDispatchLag,
//	}, []router.Endpoint{{Name: "vllm-0", Backend: engine, Scrape: scrape}})
//	…
//	abort := r.Submit(call, reply)
//
// Each rule has a file: what a configuration means (settings.go, plugins.go), how
// load is counted (inflight.go, saturation.go), who waits where (bands.go, queue.go,
// ordering.go, fairness.go), who may go (holdback.go, flowcontrol.go), who must go
// (eviction.go), and where to (picker.go). They are plain structs whose methods
// take the instant; only router.go and request.go know the kernel.
//
// The model leaves out prefill/decode profiles, prefix-cache routing, model
// rewrites, several router replicas, and the clean-up of flows that were idle for
// minutes. A configuration that asks for one of the first three is refused.
//
// Conform replays recorded behaviour of the real component. pkg/sim/stack builds
// routers, bg-deploy conform replays cases.
package router
