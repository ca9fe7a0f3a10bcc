// Package openai speaks the OpenAI wire format as vLLM and the llm-d batch
// gateway do: types, a decoder of server-sent events, a streaming chat client and
// a Files + Batches client.
//
// It measures nothing by itself: the decoder hands over each event as it leaves
// the socket, and the caller stamps it. pkg/load calls the clients, pkg/sim/serve
// and pkg/sim/gateway share the types.
package openai
