package load

import (
	"path/filepath"
	"testing"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/spec"
)

// A whole cell of target model, as `bg-load run` does it: the inputs are read anew and
// the files of the cell are written. BenchmarkModelRun is the part between them.
func BenchmarkCell(b *testing.B) {
	profile, err := spec.LoadProfile("default", nil)
	if err != nil {
		b.Fatal(err)
	}
	trial := filepath.Join(b.TempDir(), "t1")
	if _, _, err := (draw.Trial{Experiment: "unit", Number: 1, Profile: profile}).Write(trial); err != nil {
		b.Fatal(err)
	}
	for _, arm := range []string{"s0-interactive-only", "s1-no-gateway", "s2-ungated", "s4-flow-control-aimd", "s5-async"} {
		b.Run(arm, func(b *testing.B) {
			stack, err := deploy.Plan(deploy.Request{Profile: "default", Arm: arm, Target: spec.TargetModel, Trial: 1})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			cpu := cpuTime()
			for b.Loop() {
				if err := runCell(b, stack, trial, b.TempDir()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuTime()-cpu).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

func runCell(b *testing.B, stack deploy.Stack, trial, dir string) error {
	o := Options{Stack: stack, StackJSON: []byte("{}"), ModelSamples: filepath.Join(dir, "metrics.parquet")}
	var err error
	if o.Inputs, err = inputs.Open(trial); err != nil {
		return err
	}
	if o.Work, err = ReadWork(o.Inputs, stack.Arm); err != nil {
		return err
	}
	id, err := IdentityOf(stack, o.Inputs)
	if err != nil {
		return err
	}
	if o.Output, err = CreateCell(dir, id, false); err != nil {
		return err
	}
	return Run(b.Context(), o)
}
