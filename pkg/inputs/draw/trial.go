package draw

import (
	"fmt"
	"io"

	"bgbench/pkg/inputs"
	"bgbench/pkg/prompt"
	"bgbench/pkg/record"
	"bgbench/pkg/schedule"
	"bgbench/pkg/spec"
)

// Trial is what is to be drawn.
type Trial struct {
	Experiment string
	Point      string // of a sweep over the profile; else empty
	Profile    spec.Profile
	Number     int // 1-based
}

// manifest is what inputs.json says before anything is written.
func (t Trial) manifest() inputs.Manifest {
	return inputs.Manifest{
		Experiment: t.Experiment,
		Point:      t.Point,
		Trial:      t.Number,
		Seed:       t.seed(),
		Profile:    t.Profile,
	}
}

func (t Trial) seed() int64 { return t.Profile.TrialSeed(t.Number) }

// Prompts writes the lines of prompts.jsonl alone to w, and returns how long they
// came out.
func (t Trial) Prompts(w io.Writer) ([]inputs.Lengths, error) {
	d, err := t.start()
	if err != nil {
		return nil, err
	}
	lines := inputs.NewLines(w)
	if err := d.prompts(lines); err != nil {
		return nil, err
	}
	return d.scheduled(), lines.Flush()
}

// drawing is a trial that is being drawn.
type drawing struct {
	Trial
	salt        string
	arrivals    []schedule.Arrival
	interactive *prompt.Generator
	batchISL    prompt.Tally
	batchOSL    prompt.Tally
}

func (t Trial) start() (*drawing, error) {
	arrivals, err := schedule.Draw(t.Profile.Interactive, t.seed())
	if err != nil {
		return nil, err
	}
	return &drawing{
		Trial:       t,
		salt:        t.manifest().CacheSalt(),
		arrivals:    arrivals,
		interactive: prompt.New(t.Profile.InteractivePrompt(), t.Profile.MaxModelLen, t.seed(), "interactive"),
	}, nil
}

// files writes all files of the folder and returns how long the requests came out.
func (d *drawing) files(folder *inputs.Folder) ([]inputs.Lengths, error) {
	if err := folder.Write(inputs.PromptsName, d.prompts); err != nil {
		return nil, err
	}
	if err := folder.Write(inputs.ScheduleName, d.schedule); err != nil {
		return nil, err
	}
	for _, job := range d.Profile.Batch.Jobs {
		err := folder.Write(inputs.JobName(job.Name), func(lines *inputs.Lines) error { return d.job(lines, job) })
		if err != nil {
			return nil, err
		}
	}
	return append(d.scheduled(), d.batch()...), nil
}

// prompts writes a prompt an arrival: no text is sent twice, so the prefix cache
// finds system prompts and nothing else.
func (d *drawing) prompts(lines *inputs.Lines) error {
	asked := d.Profile.InteractivePrompt()
	systems := prompt.Systems(asked.SystemPrompts, d.seed())
	for i, text := range systems {
		if err := lines.SystemPrompt(inputs.SystemPrompt{SystemPrompt: i, Text: text, Tokens: asked.SystemPrompts.Tokens}); err != nil {
			return err
		}
	}
	overhead := asked.Overhead()
	for i, a := range d.arrivals {
		p := inputs.Prompt{Prompt: i}
		if n := len(systems); n > 0 {
			system := i % n
			p.SystemPrompt = &system
		}
		user, length := d.request(a, overhead)
		p.User, p.PromptTokens, p.MaxTokens = user, overhead+length.ISL, length.OSL
		if err := lines.Prompt(p); err != nil {
			return err
		}
	}
	return nil
}

// request makes the text of an arrival, as long as its trace says if it has one.
func (d *drawing) request(a schedule.Arrival, overhead int) (user string, length prompt.Length) {
	if a.InputTokens > 0 {
		return d.interactive.Sized(prompt.Length{ISL: max(1, a.InputTokens-overhead), OSL: a.OutputTokens})
	}
	return d.interactive.Next()
}

func (d *drawing) schedule(lines *inputs.Lines) error {
	for i, a := range d.arrivals {
		err := lines.Due(inputs.Due{
			I:      i,
			DueNS:  a.Due.Nanoseconds(),
			Phase:  a.Band.Phase,
			Cycle:  a.Band.Cycle,
			Warmup: a.Band.Warmup,
			Class:  a.Band.Class,
			Prompt: i,

			InFlight: a.InFlight,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *drawing) job(lines *inputs.Lines, job spec.Job) error {
	asked := d.Profile.BatchPrompt()
	systems := prompt.Systems(asked.SystemPrompts, d.seed())
	g := prompt.New(asked, d.Profile.MaxModelLen, d.seed(), "job "+job.Name)
	line := inputs.JobLine{Model: d.Profile.Model, IgnoreEOS: asked.IgnoreEOS, CacheSalt: d.salt}
	for i := range job.Requests {
		if n := len(systems); n > 0 {
			line.System = systems[i%n]
		}
		user, length := g.Next()
		line.CustomID = fmt.Sprintf("%s-%06d", job.Name, i)
		line.User, line.MaxTokens = user, length.OSL
		if err := lines.Job(line); err != nil {
			return err
		}
	}
	d.batchISL.Merge(g.ISL)
	d.batchOSL.Merge(g.OSL)
	return nil
}

// scheduled says how long the requests of the schedule came out. Phases of every class
// have the same lengths.
func (d *drawing) scheduled() []inputs.Lengths {
	asked := d.Profile.InteractivePrompt()
	return []inputs.Lengths{
		lengths(record.ClassInteractive, "isl", asked.ISL, d.interactive.ISL),
		lengths(record.ClassInteractive, "osl", asked.OSL, d.interactive.OSL),
	}
}

func (d *drawing) batch() []inputs.Lengths {
	asked := d.Profile.BatchPrompt()
	return []inputs.Lengths{
		lengths(record.ClassBatch, "isl", asked.ISL, d.batchISL),
		lengths(record.ClassBatch, "osl", asked.OSL, d.batchOSL),
	}
}

func lengths(class, quantity string, requested spec.Distribution, t prompt.Tally) inputs.Lengths {
	m := t.Realised()
	return inputs.Lengths{
		Class:         class,
		Quantity:      quantity,
		Requested:     requested,
		N:             t.N,
		Mean:          m.Mean,
		SD:            m.SD,
		Min:           t.Min,
		Max:           t.Max,
		ClippedShare:  t.ClippedShare(),
		JointCapShare: t.CappedShare(),
	}
}
