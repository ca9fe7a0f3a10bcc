package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// experimentIn reads the experiment of a folder. Cells of endpoints need none: nothing of
// them was planned, and what was measured is in them.
func experimentIn(dir string) (spec.Experiment, error) {
	e, err := spec.ReadExperiment(filepath.Join(dir, "experiment.yaml"))
	if !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	found, foundErr := measuredIn(dir)
	switch {
	case foundErr != nil:
		return e, foundErr
	case len(found) == 0:
		return e, err
	}
	return experimentOf(found), nil
}

// endpointCell is what a cell of an endpoint says of itself.
type endpointCell struct {
	record.Metadata
	arm spec.Arm
}

// measuredIn reads the metadata of the cells in dir, in the order of their runs. It returns
// none where one of them is of a stack: its experiment was planned.
func measuredIn(dir string) ([]endpointCell, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "cells", "*", "t*", metadataFile))
	if err != nil {
		return nil, err
	}
	var all []endpointCell
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m := endpointCell{}
		if err := decode(text, path, &m.Metadata); err != nil {
			return nil, err
		}
		var of struct {
			Arm spec.Arm `json:"arm"`
		}
		if m.Target != spec.TargetEndpoint {
			return nil, nil
		}
		if err := decode(m.Stack, path+": stack", &of); err != nil {
			return nil, err
		}
		place := filepath.Join(dir, "cells", m.Arm, fmt.Sprintf("t%d", m.Trial))
		if found := filepath.Dir(path); found != place {
			return nil, fmt.Errorf("%s is trial %d of arm %s, expected it in %s: bg-load run --arm NAME --trial K names a cell", found, m.Trial, m.Arm, place)
		}
		if m.arm = of.Arm; len(all) > 0 && m.Experiment != all[0].Experiment {
			return nil, fmt.Errorf("%s: it was measured with profile %q, others with %q", path, m.Experiment, all[0].Experiment)
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b endpointCell) int {
		return cmp.Or(a.RunStartedAt.Compare(b.RunStartedAt), cmp.Compare(a.Arm, b.Arm))
	})
	return all, nil
}

// experimentOf makes an experiment of cells: the endpoint that was measured first is what
// the others are compared with, and without a margin that was declared nothing is judged.
func experimentOf(cells []endpointCell) spec.Experiment {
	e := spec.Experiment{
		Name: cells[0].Experiment, Target: spec.TargetEndpoint, Profile: cells[0].Profile,
		Question: "How fast does the endpoint answer, and how evenly?",
	}
	for _, c := range cells {
		e.Trials = max(e.Trials, c.Trial)
		if _, ok := e.Arm(c.Arm); !ok {
			e.Arms = append(e.Arms, c.arm)
		}
	}
	if len(e.Arms) > 1 {
		e.Baseline, e.Question = e.Arms[0].Name, "How fast does each endpoint answer, and how evenly?"
	}
	return e
}

// asServed is the profile of a cell as that of its experiment, but for what each endpoint
// has of its own: the model's name, and the keys that it takes.
func asServed(p, of spec.Profile) spec.Profile {
	p.Model = of.Model
	p.Prompt.IgnoreEOS, p.Prompt.MinTokens, p.Prompt.CacheSalt = of.Prompt.IgnoreEOS, of.Prompt.MinTokens, of.Prompt.CacheSalt
	return p
}

// nothingDue says that a cell has jobs and no schedule, as one of a Batch API alone.
func (c *cell) nothingDue() bool {
	return c.meta.Target == spec.TargetEndpoint && c.hasBatch() && c.meta.Load.Due == 0 && c.rows.scheduled == 0
}
