// Package draw makes the inputs of a trial: it has pkg/prompt and pkg/schedule
// decide what the requests are and writes them down with pkg/inputs.
//
// A trial is fixed by its profile and its number; the same two give the same bytes
// on any machine. cmd/bg-gen calls it.
package draw
