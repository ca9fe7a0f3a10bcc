package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
	"bgbench/pkg/scrape"
	"bgbench/pkg/sim"
	"bgbench/pkg/spec"
)

// Matrix makes the cells of an experiment of target model that are missing, one after
// the other in one process: after the first one the heap is warm, and what the arms of
// a trial replay was read and tokenised. Nothing else of a cell reaches the next one,
// so that each has the rows that a process of its own would have given it.
type Matrix struct {
	// Dir is the folder of the experiment, with inputs and cells below it.
	Dir        string
	Experiment spec.Experiment
	Trial      int      // 0 for all
	Arms       []string // empty for all
	Versions   map[string]string
	// Began is told of each cell that begins, and returns who watches it; may be nil.
	Began func(MatrixCell) Watch
}

// MatrixCell is a cell that begins.
type MatrixCell struct {
	spec.Cell
	Total int           // cells of the experiment, of which Index counts this one from 1
	Left  time.Duration // that the missing cells of the experiment take, roughly
}

// Watch is told how a cell goes; each of its functions may be nil.
type Watch struct {
	Progress func(Progress)
	Verdict  func(record.LoadHealth)
	Kept     func(dir string) // where what an earlier run left is now
	End      func()           // when the cell has ended, well or badly
}

// Run makes the missing cells, in the order of the experiment but those that replay the
// same together. A cell that fails costs no other one; the error names each. When ctx
// ends, nothing more begins.
func (m Matrix) Run(ctx context.Context) error {
	planned, err := m.plan()
	if err != nil {
		return err
	}
	var trial trialInputs
	var failed []error
	unread := map[string]bool{} // inputs that cannot be read: said once
	for i, p := range planned {
		if ctx.Err() != nil {
			if !errors.Is(errors.Join(failed...), ctx.Err()) { // else the cell that was cut says so
				failed = append(failed, fmt.Errorf("interrupted before %d of %d cells: %w", len(planned)-i, len(planned), ctx.Err()))
			}
			break
		}
		if unread[p.cell.Inputs] || !m.missing(p.cell) { // another process made it meanwhile
			continue
		}
		if p.cell.Inputs != trial.dir {
			if trial, err = openTrial(m.Dir, p.cell.Inputs); err != nil {
				failed = append(failed, cli.Usage(err))
				unread[p.cell.Inputs] = true
				continue
			}
		}
		if err := m.run(ctx, p, &trial); err != nil {
			failed = append(failed, fmt.Errorf("arm %s, trial %d: %w", p.cell.Arm, p.cell.Trial, err))
		}
	}
	return errors.Join(failed...)
}

// plannedCell is a missing cell with its stack.
type plannedCell struct {
	cell  spec.Cell
	stack deploy.Stack
}

// plan returns the cells that are asked for and missing. What is wrong with one of them
// is said before any runs.
func (m Matrix) plan() ([]plannedCell, error) {
	e := m.Experiment
	if e.Target != spec.TargetModel {
		return nil, cli.Usage(cli.WithHint(fmt.Errorf("experiment %s: target: found %s, expected %s", e.Name, e.Target, spec.TargetModel),
			"bring the stack of a cell up with bg-deploy, and play it with bg-load run"))
	}
	for _, name := range m.Arms {
		if _, ok := e.Arm(name); !ok {
			return nil, cli.Usagef("--arm: %w", e.NoArm(name))
		}
	}
	if m.Trial < 0 || m.Trial > e.Trials {
		return nil, cli.Usagef("--trial: found %d, expected 1 to %d, the trials of experiment %s", m.Trial, e.Trials, e.Name)
	}
	var planned []plannedCell
	for _, cell := range e.Cells() {
		asked := (m.Trial == 0 || cell.Trial == m.Trial) && (len(m.Arms) == 0 || slices.Contains(m.Arms, cell.Arm))
		if !asked || !m.missing(cell) {
			continue
		}
		stack, err := deploy.PlanArm(e, cell.Arm, cell.Trial)
		if err != nil {
			return nil, err
		}
		planned = append(planned, plannedCell{cell, stack})
	}
	// In a sweep over the profile the arms of a trial do not all replay the same.
	first := map[string]int{}
	for i, p := range planned {
		if _, ok := first[p.cell.Inputs]; !ok {
			first[p.cell.Inputs] = i
		}
	}
	slices.SortStableFunc(planned, func(a, b plannedCell) int { return first[a.cell.Inputs] - first[b.cell.Inputs] })
	return planned, nil
}

// missing reports whether a cell has to be made, by the rule of make: it is not there,
// or older than its inputs.
func (m Matrix) missing(c spec.Cell) bool {
	made, err := os.Stat(filepath.Join(m.Dir, c.Dir, MetadataFile))
	if err != nil {
		return true
	}
	from, err := os.Stat(filepath.Join(m.Dir, c.Inputs, inputs.ManifestName))
	return err == nil && from.ModTime().After(made.ModTime())
}

// left guesses how long the missing cells take.
func (m Matrix) left() (left time.Duration, total int) {
	cells := m.Experiment.Cells()
	for _, c := range cells {
		if m.missing(c) {
			left += time.Duration(c.EstimateSeconds * float64(time.Second))
		}
	}
	return left, len(cells)
}

func (m Matrix) run(ctx context.Context, p plannedCell, trial *trialInputs) error {
	var watch Watch
	if m.Began != nil {
		left, total := m.left()
		watch = m.Began(MatrixCell{p.cell, total, left})
	}
	if watch.End != nil {
		defer watch.End()
	}
	work, err := trial.work(p.stack.Arm)
	if err != nil {
		return cli.Usage(err)
	}
	if err := PlannedFor(p.stack, trial.set); err != nil {
		return cli.Usage(err)
	}
	folder, err := beginWorkFolder(filepath.Join(m.Dir, p.cell.Dir))
	if err != nil {
		return err
	}
	defer folder.pid.Close()
	if folder.cut != "" && watch.Kept != nil {
		watch.Kept(folder.cut)
	}
	o := Options{
		Stack: p.stack, Inputs: trial.set, Work: work, Prompts: trial.prompts,
		Versions: m.Versions, Progress: watch.Progress, Verdict: watch.Verdict,
	}
	id, err := IdentityOf(o.Stack, o.Inputs)
	if err != nil {
		return cli.Usage(err)
	}
	if o.StackJSON, err = o.Stack.JSON(); err != nil {
		return err
	}
	if o.Output, err = CreateCell(folder.path, id, false); err != nil {
		return err
	}
	if err := RunWhole(ctx, o, folder.path); err != nil {
		return err
	}
	older, err := folder.finish()
	if older != "" && watch.Kept != nil {
		watch.Kept(older)
	}
	return err
}

// RunWhole is Run for target model, which keeps in dir what others would have written
// of a stack that was brought up, too: its descriptor and its metrics.
func RunWhole(ctx context.Context, o Options, dir string) error {
	return scrape.Samples(filepath.Join(dir, "metrics.parquet"), func(partial string) error {
		if err := o.Stack.Write(filepath.Join(dir, "stack.json")); err != nil {
			return err
		}
		o.ModelSamples = partial
		return Run(ctx, o)
	})
}

// trialInputs are what the arms of a trial share.
type trialInputs struct {
	dir     string // as the plan names it
	set     *inputs.Set
	jobs    jobFiles
	prompts *sim.Prompts
}

func (t *trialInputs) work(arm spec.Arm) (Work, error) { return t.jobs.work(t.set, arm) }

func openTrial(experiment, dir string) (trialInputs, error) {
	set, err := inputs.Open(filepath.Join(experiment, dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = cli.WithHint(err, "bg-gen inputs --experiment %s --trial K -o DIR draws them", filepath.Join(experiment, "experiment.yaml"))
	}
	return trialInputs{dir: dir, set: set, prompts: new(sim.Prompts)}, err
}
