// Package gateway is llm-d's batch gateway as a state machine on a kernel: the
// apiserver with its Files and Batches API, and the processor that takes jobs from
// a queue and sends their lines to an inference backend or, in async dispatch, to the
// queue of pkg/sim/async.
//
// It behaves as the real apiserver and processor were observed to behave, quirks
// included; Config.Quirks names the quirks that can be switched off. It speaks no
// HTTP: pkg/sim/serve puts the API on a socket, pkg/load calls it directly.
//
//	k := kernel.NewVirtual()
//	g := gateway.New(k, gateway.Config{Gateway: arm.Gateway}, backend)
//	file, _ := g.Upload(gateway.DefaultTenant, gateway.Upload{Purpose: "batch", Filename: "job-A.jsonl", Content: lines})
//
// Every method belongs to the kernel's goroutine.
package gateway
