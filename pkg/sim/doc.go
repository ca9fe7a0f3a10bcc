// Package sim is the vocabulary of the stack model: what a request is while it
// travels from client over router to engine, and what comes back.
//
// Its sub-packages are the parts: kernel (time), engine (vLLM), gateway (batch
// gateway), async (async processor), stack (the wiring of one arm) and serve (the
// same stack behind HTTP).
// All of them speak in Calls and Replies, so that a router fits between any two.
// The model never looks at a wall clock and never starts a goroutine: pkg/sim/serve
// is the only part that does.
package sim
