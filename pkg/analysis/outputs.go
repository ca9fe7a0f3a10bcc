package analysis

import (
	"fmt"
	"hash/fnv"
	"slices"

	"bgbench/pkg/spec"
)

// identify stands for an output that has a hash: equal hashes are equal numbers, and
// unlike ones of the lines of an experiment are unlike.
func identify(sha *string) *uint64 {
	if sha == nil {
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte(*sha))
	sum := h.Sum64()
	return &sum
}

// outputs are those of the ok lines that have a hash.
func (r *rows) outputs() map[line]uint64 {
	out := make(map[line]uint64)
	for key, a := range r.lines {
		if a.ok > 0 && a.text != nil {
			out[key] = *a.text
		}
	}
	return out
}

// listedLines is how many lines that differ the evidence names.
const listedLines = 3

// compareOutputs holds the outputs of each cell against those of the first arm of the
// same trial that has any. All arms of a trial are asked the same, and a greedy
// deterministic server answers the same, whatever was evicted, retried or resumed.
func compareOutputs(slots []*slot) {
	reference := make(map[workload]*slot)
	for _, s := range slots {
		if s.result == nil || len(s.outputs) == 0 {
			continue
		}
		first, ok := reference[s.workload()]
		if !ok {
			reference[s.workload()] = s
			continue
		}
		o, differing := s.outputsAgainst(first)
		s.result.Outputs = &o
		s.result.addCheck(o.check("outputs identical", s.meta.Target, differing))
	}
}

// outputsAgainst compares the lines that both have, and names those that differ.
func (s *slot) outputsAgainst(reference *slot) (OutputComparison, []string) {
	o := OutputComparison{Reference: reference.arm.Name}
	var differing []string
	for key, text := range s.outputs {
		other, ok := reference.outputs[key]
		if !ok {
			continue
		}
		o.Compared++
		if text != other {
			o.Different++
			differing = append(differing, key.job+"/"+key.customID)
		}
	}
	slices.Sort(differing)
	return o, differing
}

// check holds emulated servers to identical outputs. On real ones the sums of a batch
// are not those of a request alone, so that a token may turn out otherwise.
func (o OutputComparison) check(name, target string, differing []string) Check {
	exact := target == spec.TargetModel || target == spec.TargetLocal
	evidence := fmt.Sprintf("%d of %d lines with another output than in %s", o.Different, o.Compared, o.Reference)
	if o.Run != "" {
		evidence += " of " + o.Run
	}
	if len(differing) > 0 {
		evidence += fmt.Sprintf(", such as %v", differing[:min(len(differing), listedLines)])
	}
	if !exact {
		evidence += "; told, not demanded, of real servers"
	}
	return check(name, !exact || o.Different == 0, "%s", evidence)
}
