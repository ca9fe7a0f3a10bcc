// Package kernel is the event queue under the stack model and the load engine.
//
// It runs on one of two clocks. The virtual clock jumps from event to event, so
// a run of hours takes seconds and is deterministic: one goroutine, ties broken
// by the order of insertion. The wall clock sleeps to the next event and accepts
// work posted by other goroutines (HTTP handlers, transports), which runs on the
// same single goroutine. A component written against a Kernel therefore needs no
// lock and cannot tell the two clocks apart.
//
// It knows nothing of requests, engines or HTTP. pkg/sim and pkg/load call it.
package kernel
