package analysistest

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bgbench/pkg/spec"
)

// Arms of the experiment.
const (
	S0 = "s0-interactive-only" // no batch work, the baseline
	S1 = "s1-no-gateway"       // backlog
	S2 = "s2-ungated"          // batch gateway
	S6 = "s6-low-concurrency"  // batch gateway, one cell INVALID and one missing
)

// base holds the shortest time to first token of a burst, in seconds, by trial. The
// values of S0, S1 and S2 are those near published ones for which R gave intervals
// and tests: see the known answers in pkg/stats.
var base = map[string][]float64{
	S0: {.342, .350, .338},
	S1: {.561, .548, .570},
	S2: {.341, .348, .345},
	S6: {.343, .351, .340},
}

// Base is the shortest time to first token of the measured burst.
func Base(arm string, trial int) float64 { return base[arm][trial-1] }

// Experiment is the experiment that Write writes: 4 arms, 3 trials.
func Experiment() spec.Experiment {
	return spec.Experiment{
		Name:        "toy",
		Description: "cells with known answers",
		Question:    "does the analysis find what was put in?",
		Target:      spec.TargetModel,
		Trials:      3,
		Baseline:    S0,
		Margin:      0.05,
		Profile:     profile(),
		Arms: []spec.Arm{
			arm(S0, spec.DispatchNone), arm(S1, spec.DispatchBacklog),
			arm(S2, spec.DispatchSync), arm(S6, spec.DispatchSync),
		},
		Chains: []spec.Chain{{Name: "steps", Arms: []string{S1, S2, S6}}, {Name: "absent", Arms: []string{S2, "s9"}}},
	}
}

func profile() spec.Profile {
	length := spec.Distribution{Type: spec.Fixed, Mean: 64, Min: 1, Max: 64}
	return spec.Profile{
		Name: "toy", Description: "two phases, three cycles", Seed: 42,
		Model: "Qwen/Qwen3-8B", MaxModelLen: 1024,
		Prompt: spec.Prompt{ISL: length, OSL: length, IgnoreEOS: true},
		Interactive: spec.Interactive{
			Arrival: spec.Constant,
			Phases: []spec.Phase{
				{Name: "burst", Rate: 4, Duration: spec.Duration(30 * time.Second), Class: spec.ClassInteractive},
				{Name: "idle", Rate: 1, Duration: spec.Duration(10 * time.Second), Class: spec.ClassInteractive},
			},
			Cycles: 3, WarmupCycles: 1,
			RequestTimeout: spec.Duration(time.Minute),
		},
		Batch: spec.Batch{
			Lead: spec.Duration(5 * time.Second),
			Jobs: []spec.Job{
				{Name: "A", Requests: 130, Window: spec.Duration(5 * time.Minute)},
				{Name: "B", Requests: 20, Window: spec.Duration(time.Minute)},
			},
		},
		Drain: spec.Drain{Interactive: spec.Duration(10 * time.Second), Jobs: spec.Duration(time.Minute)},
		SLO:   &spec.SLO{TTFT: spec.Duration(500 * time.Millisecond), TPOT: spec.Duration(30 * time.Millisecond)},
	}
}

func arm(name, dispatch string) spec.Arm {
	return spec.Arm{
		Name: name, Description: "arm " + name, Dispatch: dispatch,
		Backlog: spec.Backlog{Concurrency: 8},
		Gateway: spec.Gateway{
			NumWorkers: 5, PollInterval: spec.Duration(5 * time.Second), TaskWaitTime: spec.Duration(time.Second),
			Concurrency: spec.Concurrency{Global: 20, PerEndpoint: 10}, InferenceGateway: spec.InferenceGatewayPerModel,
			RequestTimeout: spec.Duration(5 * time.Minute),
			InitialBackoff: spec.Duration(time.Second), MaxBackoff: spec.Duration(time.Minute),
		},
		Router: spec.Router{Kind: spec.RouterRoundRobin},
		Engine: spec.Engine{
			GPU: spec.GPUH100, Replicas: 1, TensorParallelSize: 1, MaxNumSeqs: 32, MaxNumBatchedTokens: 2048, GPUMemoryUtilization: 0.9,
			EnablePrefixCaching: true, EnableChunkedPrefill: true, SchedulingPolicy: spec.PolicyFCFS, BlockSize: 16,
		},
	}
}

// Write writes the experiment to dir. Of arm S6, trial 2 left late and trial 3 was
// not measured. change may change each cell before it is written.
func Write(dir string, change func(*Cell)) error {
	experiment := Experiment()
	text, err := spec.Marshal(experiment)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "experiment.yaml"), text, 0o644); err != nil {
		return err
	}
	for _, arm := range experiment.Arms {
		for trial := 1; trial <= experiment.Trials; trial++ {
			cell := New(arm.Name, trial)
			switch {
			case arm.Name == S6 && trial == 2:
				for i := range cell.Requests {
					if late := cell.Requests[i].LatenessS; late != nil {
						*late = 0.120
					}
				}
			case arm.Name == S6 && trial == 3:
				continue
			}
			if change != nil {
				change(&cell)
			}
			if err := cell.Write(filepath.Join(dir, "cells", arm.Name, fmt.Sprintf("t%d", trial))); err != nil {
				return err
			}
		}
	}
	return nil
}
