package interop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/record"
	"bgbench/pkg/schedule"
	"bgbench/pkg/spec"
)

// bgbench is our own tool, and allPhases the name of the phase of runs over all of them.
const (
	bgbench   = "bgbench"
	allPhases = "all"
)

// CellFormat is the Format of runs that come from rows or results of ours.
const CellFormat Format = "bgbench"

// Cell is what a run of ours was configured with.
type Cell struct {
	Experiment string
	Arm        spec.Arm
	Trial      int
	Target     string
	Profile    spec.Profile
	Phase      string // name, or all
	Class      string
	Version    string    // of bg-load
	Start      time.Time // of the schedule
	End        time.Time
	// Dir is the folder with the rows; empty where only results are at hand.
	Dir string
}

// Run begins the run of one phase and class of the cell.
func (c Cell) Run(source string) Run {
	run := Run{
		Tool: bgbench, ToolVersion: c.Version, Format: CellFormat, Source: source,
		Name: fmt.Sprintf("%s t%d %s %s", c.Arm.Name, c.Trial, c.Phase, c.Class),
		Labels: map[string]string{
			"experiment": c.Experiment, "arm": c.Arm.Name, "trial": strconv.Itoa(c.Trial), "phase": c.Phase, "class": c.Class,
		},
		Metrics: []Metric{},
		Cell:    &c,
	}
	label(&run, "model", c.Profile.Model)
	if !c.Start.IsZero() {
		run.StartedAt = &c.Start
	}
	if !c.End.IsZero() {
		run.EndedAt = &c.End
	}
	if window := c.window(); window > 0 {
		run.DurationS = &window
	}
	return run
}

// window is the measured time of the phase over all cycles, in seconds.
func (c Cell) window() float64 {
	var sum time.Duration
	for _, b := range schedule.Bands(c.Profile.Interactive) {
		if !b.Warmup && (b.Phase == c.Phase || c.Phase == allPhases) {
			sum += b.End - b.Start
		}
	}
	return sum.Seconds()
}

// stage is the place of the phase in the profile, which is what others call a stage;
// −1 for all of them.
func (c Cell) stage() int { return slices.Index(phaseNames(c.Profile.Interactive), c.Phase) }

// rate at which requests of the phase were due, on the average of its measured bands
// if it comes more than once in a cycle; 0 if that is not one number.
func (c Cell) rate() float64 {
	rate := 0.0
	for _, p := range c.Profile.Interactive.Phases {
		if p.Name == c.Phase {
			if rate != 0 && rate != p.Rate {
				return 0
			}
			rate = p.Rate
		}
	}
	return rate
}

func phaseNames(in spec.Interactive) []string {
	var names []string
	for _, p := range in.Phases {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// ReadCell measures the rows of the cell in dir: a run for each phase and class over
// the measured cycles, and one for each class over all phases. itl is ITLPerToken, or
// ITLPerTokenBurst for a format that wants inference-perf's.
func ReadCell(ctx context.Context, dir string, itl Definition) ([]Run, error) {
	base, err := cellOf(dir)
	if err != nil {
		return nil, err
	}
	type key struct{ phase, class string }
	found := make(map[key]*rowMetrics)
	ours := ourColumns
	ours.ITL = itl
	err = eachRow(ctx, dir, func(q record.Request) {
		if q.Phase == nil || q.Warmup {
			return
		}
		for _, phase := range []string{*q.Phase, allPhases} {
			k := key{phase, q.Class}
			if found[k] == nil {
				found[k] = newRowMetrics(ours)
			}
			found[k].add(q)
		}
	})
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, phase := range append(phaseNames(base.Profile.Interactive), allPhases) {
		for _, class := range []string{record.ClassInteractive, record.ClassStandard, record.ClassBatchEquivalent, record.ClassBatch} {
			measured := found[key{phase, class}]
			if measured == nil {
				continue
			}
			c := base
			c.Phase, c.Class = phase, class
			run := c.Run(dir)
			measured.describe(&run)
			if run.DurationS != nil {
				measured.rates(&run, *run.DurationS, RequestsOverPhase, InputOverPhase, OutputOverPhase, TotalOverPhase)
			}
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// cellOf reads what the cell in dir was configured with. One that several load generators
// played is that of the first of them, until the last had ended.
func cellOf(dir string) (Cell, error) {
	parts, err := partsOf(dir)
	if err != nil {
		return Cell{}, err
	}
	meta := parts[0].meta
	c := Cell{
		Experiment: meta.Experiment, Arm: parts[0].arm, Trial: meta.Trial, Target: meta.Target, Profile: meta.Profile,
		Version: meta.Versions["bg-load"], Start: meta.ScheduleStartedAt, End: meta.EndedAt, Dir: dir,
	}
	for _, p := range parts {
		if end := p.meta.EndedAt.Add(p.behind); end.After(c.End) {
			c.End = end
		}
	}
	return c, nil
}

const metadataFile = "run-metadata.json"

// part is the folder of a cell, or of one of its shards.
type part struct {
	dir    string
	meta   record.Metadata
	arm    spec.Arm
	behind time.Duration // its clock, the first one's
}

// partsOf finds the parts of the cell in dir. pkg/analysis judges whether they belong
// together.
func partsOf(dir string) ([]part, error) {
	dirs := []string{dir}
	if _, err := os.Stat(filepath.Join(dir, metadataFile)); errors.Is(err, fs.ErrNotExist) {
		shards, err := record.ShardDirs(dir)
		if err != nil {
			return nil, err
		}
		if len(shards) > 0 {
			dirs = shards
		}
	}
	var parts []part
	for _, d := range dirs {
		p := part{dir: d}
		path := filepath.Join(d, metadataFile)
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", dir, err)
		}
		var of struct {
			Stack struct {
				Arm spec.Arm `json:"arm"`
			} `json:"stack"`
		}
		if err := errors.Join(jsontext.Decode(path, data, &p.meta), jsontext.Decode(path, data, &of)); err != nil {
			return nil, err
		}
		p.arm = of.Stack.Arm
		if len(parts) > 0 && p.meta.Shard != nil && parts[0].meta.Shard != nil {
			p.behind = p.meta.Shard.Behind(*parts[0].meta.Shard)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// eachRow gives every request of a cell to take, on the clock of its first part.
func eachRow(ctx context.Context, dir string, take func(record.Request)) error {
	parts, err := partsOf(dir)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := p.eachRow(ctx, take); err != nil {
			return err
		}
	}
	return nil
}

func (p part) eachRow(ctx context.Context, take func(record.Request)) error {
	path := filepath.Join(p.dir, "requests.parquet")
	reader, err := record.ReadFile[record.Request](path)
	if err != nil {
		return fmt.Errorf("cell %s: %w", p.dir, err)
	}
	defer reader.Close()
	n := 0
	for q, err := range reader.All() {
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if gaps := len(q.ChunkGapS); gaps > 0 && len(q.ChunkTokens) != gaps+1 {
			return fmt.Errorf("%s: row %d: chunk_tokens: found %d values beside %d in chunk_gap_s, expected one more than gaps",
				path, n+1, len(q.ChunkTokens), gaps)
		}
		q.Shift(p.behind)
		take(q)
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return ctx.Err()
}
