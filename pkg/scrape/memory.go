package scrape

import (
	"os"
	"runtime/debug"
)

// memoryLimit is what 20 endpoints of 2,000 series need, with some room
// (BenchmarkHourOfSamples). Above it the garbage collector only works harder.
const memoryLimit = 120 << 20

// LimitMemory lets the garbage collector keep a scraper small: it stands beside what is
// being measured. GOMEMLIMIT says otherwise.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
