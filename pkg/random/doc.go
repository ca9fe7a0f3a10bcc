// Package random makes the seeded streams that everything drawn by chance takes
// its numbers from.
//
// A stream is named by its purpose, so that drawing more of one thing, or a new
// thing, never reshuffles another. pkg/spec (run order), pkg/schedule (arrivals)
// and pkg/prompt (lengths and texts) draw from it.
package random
