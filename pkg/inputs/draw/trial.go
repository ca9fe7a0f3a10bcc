package draw

import (
	"fmt"
	"io"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/prompt"
	"bgbench/pkg/record"
	"bgbench/pkg/schedule"
	"bgbench/pkg/spec"
	"bgbench/pkg/token"
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
	counter     token.Counter
	tokenizer   *inputs.Tokenizer
	texts       texts
	systems     []string // of the interactive requests
	interactive *prompt.Generator
	// What the jobs together asked for and were given; their moments asked for are those
	// of the first.
	batchISL, batchOSL           prompt.Tally
	batchAskedISL, batchAskedOSL prompt.Moments
}

// interactivePurpose names the streams of the interactive requests.
const interactivePurpose = "interactive"

func (t Trial) start() (*drawing, error) {
	arrivals, err := schedule.Draw(t.Profile.Interactive, t.seed())
	if err != nil {
		return nil, err
	}
	d := &drawing{Trial: t, salt: t.manifest().CacheSalt(), arrivals: arrivals, counter: token.Default{}}
	if err := d.openTokenizer(); err != nil {
		return nil, err
	}
	if err := d.readTexts(); err != nil {
		return nil, err
	}
	d.interactive, d.systems, err = d.generator(record.ClassInteractive, interactivePurpose, len(arrivals))
	return d, err
}

// generator returns the generator of a purpose that has at most so many requests, and
// its system prompts.
func (d *drawing) generator(class, purpose string, requests int) (*prompt.Generator, []string, error) {
	asked := d.Profile.InteractivePrompt()
	if class == record.ClassBatch {
		asked = d.Profile.BatchPrompt()
	}
	systems := prompt.Systems(asked.SystemPrompts, d.seed(), purpose, d.counter)
	g, err := prompt.New(prompt.Options{
		Prompt: asked, MaxModelLen: d.Profile.MaxModelLen, Seed: d.seed(), Purpose: purpose,
		Counter: d.counter, Systems: systems, Rows: d.texts.deal(class, requests),
	})
	return g, systems, err
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
// finds system prompts, the history of conversations and nothing else.
func (d *drawing) prompts(lines *inputs.Lines) error {
	for i, text := range d.systems {
		if err := lines.SystemPrompt(inputs.SystemPrompt{SystemPrompt: i, Text: text, Tokens: d.counter.Count(text)}); err != nil {
			return err
		}
	}
	overhead := d.Profile.InteractivePrompt().Overhead()
	for i, a := range d.arrivals {
		r, err := d.request(a, overhead)
		if err != nil {
			return err
		}
		p := inputs.Prompt{Prompt: i, Answer: r.Answer, User: r.User, PromptTokens: r.PromptTokens, MaxTokens: r.OSL}
		if n := len(d.systems); n > 0 {
			system := r.Conversation % n
			p.SystemPrompt = &system
		}
		if r.After >= 0 {
			p.After = &r.After
		}
		if err := lines.Prompt(p); err != nil {
			return err
		}
	}
	d.texts.took(record.ClassInteractive, d.interactive.Taken())
	return nil
}

// request makes the text of an arrival, as long as its trace says if it has one.
func (d *drawing) request(a schedule.Arrival, overhead int) (prompt.Request, error) {
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
	g, systems, err := d.generator(record.ClassBatch, "job "+job.Name, job.Requests)
	if err != nil {
		return err
	}
	line := inputs.JobLine{Model: d.Profile.Model, IgnoreEOS: asked.IgnoreEOS, MinTokens: asked.MinTokens, CacheSalt: d.salt}
	for i := range job.Requests {
		r, err := g.Next()
		if err != nil {
			return err
		}
		if n := len(systems); n > 0 {
			line.System = systems[r.Conversation%n]
		}
		line.CustomID = fmt.Sprintf("%s-%06d", job.Name, i)
		line.History = line.History[:0]
		for _, m := range r.History {
			line.History = append(line.History, openai.Message(m))
		}
		line.User, line.MaxTokens = r.User, r.OSL
		if err := lines.Job(line); err != nil {
			return err
		}
	}
	d.texts.took(record.ClassBatch, g.Taken())
	d.batchISL.Merge(g.ISL())
	d.batchOSL.Merge(g.OSL())
	if d.batchAskedISL == (prompt.Moments{}) {
		d.batchAskedISL, d.batchAskedOSL = g.Requested()
	}
	return nil
}

// scheduled says how long the requests of the schedule came out. Phases of every class
// have the same lengths.
func (d *drawing) scheduled() []inputs.Lengths {
	asked := d.Profile.InteractivePrompt()
	isl, osl := d.interactive.Requested()
	return []inputs.Lengths{
		lengths(record.ClassInteractive, "isl", asked.ISL, isl, d.interactive.ISL()),
		lengths(record.ClassInteractive, "osl", asked.OSL, osl, d.interactive.OSL()),
	}
}

func (d *drawing) batch() []inputs.Lengths {
	asked := d.Profile.BatchPrompt()
	return []inputs.Lengths{
		lengths(record.ClassBatch, "isl", asked.ISL, d.batchAskedISL, d.batchISL),
		lengths(record.ClassBatch, "osl", asked.OSL, d.batchAskedOSL, d.batchOSL),
	}
}

func lengths(class, quantity string, requested spec.Distribution, asked prompt.Moments, t prompt.Tally) inputs.Lengths {
	m := t.Realised()
	return inputs.Lengths{
		Class:         class,
		Quantity:      quantity,
		Requested:     requested,
		RequestedMean: asked.Mean,
		RequestedSD:   asked.SD,
		N:             t.N,
		Mean:          m.Mean,
		SD:            m.SD,
		Min:           t.Min,
		Max:           t.Max,
		ClippedShare:  t.ClippedShare(),
		JointCapShare: t.CappedShare(),
	}
}
