// Package deploy brings a stack under test up and down and describes it.
//
// A stack is known by its descriptor, stack.json: what was asked for, where to
// reach it and what has to be ended. Target model starts nothing (bg-load runs
// pkg/sim in process), target local starts `bg-deploy serve` on loopback.
// cmd/bg-deploy calls it; bg-load and bg-scrape read the descriptor.
package deploy
