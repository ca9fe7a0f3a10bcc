package analysis

import (
	"fmt"
	"strings"
	"testing"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/spec"
)

func TestOutputsAreComparedWithTheFirstArmOfTheTrial(t *testing.T) {
	for _, c := range []struct {
		name     string
		target   string
		differ   int
		ok       bool
		evidence string
	}{
		{"the same outputs", spec.TargetModel, 0, true, "0 of 140 lines with another output than in s1-no-gateway"},
		{"another output on the model", spec.TargetModel, 1, false, "1 of 140 lines with another output than in s1-no-gateway, such as [A/job-A-0000]"},
		{"other outputs over sockets", spec.TargetLocal, 5, false, "5 of 140 lines with another output than in s1-no-gateway, such as [A/job-A-0000 A/job-A-0001 A/job-A-0002]"},
		{"another output of real servers", spec.TargetKube, 1, true, "such as [A/job-A-0000]; told, not demanded, of real servers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var slots []*slot
			for i, arm := range []string{analysistest.S0, analysistest.S1, analysistest.S2} {
				cell := analysistest.New(arm, 1)
				cell.Answer(c.differ * (i / 2))
				read, err := gather(cell)
				if err != nil {
					t.Fatal(err)
				}
				result, err := read.result(fmt.Sprint(i))
				if err != nil {
					t.Fatal(err)
				}
				read.meta.Target = c.target
				slots = append(slots, &slot{arm: read.arm, trial: 1, result: &result, meta: read.meta, outputs: read.rows.outputs()})
			}
			compareOutputs(slots)
			if slots[0].result.Outputs != nil || slots[1].result.Outputs != nil {
				t.Error("an arm without lines, or the reference, was compared")
			}
			last := slots[2].result
			got := last.Checks[len(last.Checks)-1]
			if got.Name != "outputs identical" || got.OK != c.ok || !strings.Contains(got.Evidence, c.evidence) {
				t.Errorf("found %+v, expected ok %v, …%s…", got, c.ok, c.evidence)
			}
			if last.Valid != c.ok {
				t.Errorf("valid %v, expected %v", last.Valid, c.ok)
			}
			if last.Outputs.Compared != 140 || last.Outputs.Different != c.differ || last.Outputs.Reference != analysistest.S1 {
				t.Errorf("found %+v", *last.Outputs)
			}
		})
	}
}
