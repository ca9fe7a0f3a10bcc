package main

import (
	"runtime"

	"bgbench/pkg/cli"
)

// keepToOneCore keeps a run on the virtual clock to one core, unless GOMAXPROCS says
// otherwise. Only one of its goroutines has work at any time: a second core is woken for each
// hand-over between them and finds nothing, which costs a fifth of the CPU time, and another
// process could have had that core.
func keepToOneCore(env cli.Env) {
	if _, chosen := env.LookupEnv("GOMAXPROCS"); !chosen {
		runtime.GOMAXPROCS(1)
	}
}
