// Package serve puts the stack model behind HTTP: the OpenAI API with
// server-sent events exactly as vLLM sends them, the batch gateway's Files and
// Batches API, and /metrics pages.
//
// It is the only part of the model with goroutines. A handler posts into the
// kernel and reads what the kernel left in its mailbox, so the state machines
// behind it never see concurrency. pkg/deploy mounts the handlers on sockets.
package serve
