package main

import (
	"os"
	"runtime/debug"
)

// memoryGoal keeps a cell of 10 million requests below 1 GiB: from here on the garbage
// collector runs early instead of letting memory double (make bench-rows). A cell that
// needs more still gets it.
const memoryGoal = 768 << 20

// limitMemory sets the goal unless GOMEMLIMIT does.
func limitMemory() {
	if _, ok := os.LookupEnv("GOMEMLIMIT"); !ok {
		debug.SetMemoryLimit(memoryGoal)
	}
}
