// Package engine models a vLLM server: its V1 scheduler step for step, the time
// that a step takes on a GPU, and the API server before it with its metrics.
//
// It has three floors, each usable without the one above:
//
//   - Scheduler is a pure state machine over steps. It knows token counts, KV
//     blocks and queues, and neither time nor text. Conform replays recorded
//     behaviour of vLLM's own scheduler on it.
//   - Cost says how long a step takes: a roofline of compute and memory traffic
//     from a catalogue of models and GPUs.
//   - Server joins the two on a kernel and implements sim.Backend.
//
// It models the GPUs of one replica under tensor parallelism, without pipeline or
// data parallelism, one full-attention KV cache group, no speculative decoding, no LoRA, no KV
// connector, and no sampling: a request always runs to its token limit.
//
//	cfg, err := engine.ConfigOf(arm.Engine, "Qwen/Qwen3-8B", 8448)
//	…
//	server := engine.New(k, cfg)
//	abort := server.Submit(call, reply)
//
// pkg/sim/stack wires Servers behind a router. docs/model.md says which rule is held
// by which test, and how far the times can be trusted.
package engine
