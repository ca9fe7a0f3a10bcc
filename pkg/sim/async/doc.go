// Package async is llm-d's async processor (llm-d-async v0.10, Redis sorted set) as a
// state machine on a kernel: messages wait in a queue by deadline, a gate says how
// many of them a poll may take, workers send them to the inference gateway, and
// results go back to whoever submitted them.
//
// With Resume it does what the experimental Rust processor (llm-d-async-rs) does with
// a stream that was cut: the tokens that came are kept and the next attempt goes on
// after them.
//
// There is one queue and one pool of workers. pkg/sim/gateway submits to it with
// dispatch async, pkg/sim/stack builds it:
//
//	p := async.New(k, async.Config{Async: arm.Async, Objective: "batch"}, router)
//	p.Submit(async.Message{ID: "batch_req_1", Deadline: 1764600000, Call: call}, func(r async.Result) { … })
//
// Every method belongs to the kernel's goroutine.
package async
