// Package prompt decides what requests look like: how long prompt and answer are,
// and the text.
//
// Lengths follow a spec.Distribution with the semantics of inference-perf, cut to
// what the context holds. Text is made of words of a fake-text library that are one
// token each, so that its length is exact under pkg/token and close under a real
// tokenizer. The same generator serves interactive requests and batch lines, each
// from its own seeded streams. It writes no file: pkg/inputs/draw calls it and
// pkg/inputs holds the lines.
//
//	g := prompt.New(profile.InteractivePrompt(), profile.MaxModelLen, seed, "interactive")
//	text, length := g.Next()
package prompt
