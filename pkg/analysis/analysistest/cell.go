package analysistest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/schedule"
	"bgbench/pkg/spec"
)

// Start is schedule time 0 of every cell.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Cell is what a run of one arm and trial leaves behind. A test changes it before
// it writes it.
type Cell struct {
	Metadata record.Metadata
	Requests []record.Request
	Jobs     []record.Job
	Samples  []record.Sample
}

// New makes a cell of the experiment.
func New(arm string, trial int) Cell {
	experiment := Experiment()
	config, ok := experiment.Arm(arm)
	if !ok {
		panic("analysistest: no arm " + arm)
	}
	stack, err := json.Marshal(map[string]any{"schema_version": 1, "arm": config, "declared": experiment.Declaration()})
	if err != nil {
		panic(err)
	}
	profile := experiment.ProfileOf(arm)
	seed := profile.TrialSeed(trial)
	c := Cell{Metadata: record.Metadata{
		SchemaVersion: 1, Experiment: experiment.Name, Arm: arm, Trial: trial, Seed: seed,
		Target: experiment.Target, Clock: "virtual",
		RunStartedAt: at(-5), ScheduleStartedAt: Start, EndedAt: at(135),
		Profile: profile, Stack: stack,
		Inputs:   map[string]string{"schedule.jsonl": fmt.Sprintf("%064x", trial)},
		Host:     record.Host{OS: "linux", Arch: "amd64", CPUs: 2},
		Versions: map[string]string{"bg-load": "test"},
		Warnings: []string{},
	}}
	c.interactive(Base(arm, trial))
	switch config.Dispatch {
	case spec.DispatchBacklog:
		c.backlog()
	case spec.DispatchSync:
		c.gateway()
		c.samples()
	}
	for i := range c.Requests {
		r := &c.Requests[i]
		if r.DueAt != nil {
			c.Metadata.Load.Due++
			c.Metadata.Load.Sent++
		}
		r.Experiment, r.Arm, r.Trial, r.Seed = experiment.Name, arm, int32(trial), seed
	}
	for i := range c.Jobs {
		c.Jobs[i].Experiment, c.Jobs[i].Arm, c.Jobs[i].Trial = experiment.Name, arm, int32(trial)
	}
	for i := range c.Samples {
		c.Samples[i].Experiment, c.Samples[i].Arm, c.Samples[i].Trial = experiment.Name, arm, int32(trial)
	}
	return c
}

// at is an instant in seconds of schedule time.
func at(s float64) time.Time { return Start.Add(time.Duration(s * float64(time.Second))) }

func ptr[T any](v T) *T { return &v }

// interactive is the schedule: a request every 250 ms in a burst, every second in
// an idle phase. Each is answered with 4 tokens in 3 chunks: the second chunk comes
// 20 ms after the first, the third 60 ms later with 2 tokens.
func (c *Cell) interactive(base float64) {
	measured := map[string]int{}
	id := 0
	for _, band := range schedule.Bands(c.Metadata.Profile.Interactive) {
		step, count := 0.25, 240.0
		if band.Phase == "idle" {
			step, count = 1, 20
		}
		for due := band.Start.Seconds(); due < band.End.Seconds(); due += step {
			ttft := base
			if !band.Warmup {
				ttft = base * (1 + float64(measured[band.Phase])/(count-1))
				measured[band.Phase]++
			}
			r := answered(due, 0.001, ttft)
			r.Class, r.RequestID = record.ClassInteractive, fmt.Sprintf("r%d", id)
			r.Phase, r.Cycle, r.Warmup = ptr(band.Phase), ptr(int32(band.Cycle)), band.Warmup
			c.Requests = append(c.Requests, r)
			id++
		}
	}
}

// answered is a request that was due at an instant, sent lateness after it and
// answered well.
func answered(due, lateness, ttft float64) record.Request {
	sent := due + lateness
	const streamed = 0.080
	return record.Request{
		Attempt: 1, Status: record.StatusOK, HTTPStatus: ptr(int32(200)),
		DueAt: ptr(at(due)), SentAt: ptr(at(sent)), HeadersAt: ptr(at(sent)),
		FirstChunkAt: ptr(at(sent + ttft)), FirstTokenAt: ptr(at(sent + ttft)),
		LastTokenAt: ptr(at(sent + ttft + streamed)), DoneAt: ptr(at(sent + ttft + streamed)),
		LatenessS: ptr(lateness),
		TTFTS:     ptr(ttft), TTFTFromDueS: ptr(ttft + lateness),
		E2ES: ptr(ttft + streamed), E2EFromDueS: ptr(ttft + streamed + lateness),
		TPOTS: ptr(streamed / 3), ChunkGapS: []float32{0.020, 0.060}, ChunkTokens: []int32{1, 1, 2},
		PromptTokens: ptr(int64(100)), CachedTokens: ptr(int64(64)), OutputTokens: ptr(int64(4)),
		TokenSource: ptr(record.TokensFromContinuousUsage),
	}
}

// progressOfA is the number of lines of job A that are completed at an instant.
func progressOfA(t float64) float64 {
	const perCycle = 30*0.5 + 10*2
	switch {
	case t <= 0:
		return 0
	case t >= 120:
		return min(130, 3*perCycle+2*(t-120))
	}
	cycle := float64(int(t / 40))
	within := t - 40*cycle
	return cycle*perCycle + 0.5*min(within, 30) + 2*max(0, within-30)
}

// gateway is the work of a batch gateway: job A completes at 132.5 s; job B stands
// still at half of its lines and expires.
func (c *Cell) gateway() {
	for i := range 130 {
		c.Requests = append(c.Requests, line("A", i, record.StatusOK))
	}
	for i := range 20 {
		status := record.StatusOK
		if i >= 10 {
			status = record.StatusTimeout
		}
		c.Requests = append(c.Requests, line("B", i, status))
	}
	for t := -5.0; t <= 135; t += 5 {
		a := record.Job{Job: "A", BatchID: "batch_a", Status: "in_progress", Total: 130, Completed: int64(progressOfA(t)), CompletionWindowS: 300}
		b := record.Job{Job: "B", BatchID: "batch_b", Status: "in_progress", Total: 20, CompletionWindowS: 60}
		if t >= 0 {
			b.Completed = 10
		}
		if t >= 135 {
			a.Status, a.CompletedAt = "completed", ptr(at(133)) // whole seconds
		}
		if t >= 55 {
			b.Status, b.Failed, b.ExpiredAt = "expired", 10, ptr(at(55))
		}
		c.observe(t, a)
		if t <= 55 { // nothing is polled after its end
			c.observe(t, b)
		}
	}
}

// backlog sends the lines as ordinary requests. Job B is done before schedule time
// 0; line i of job A is sent when it completes, with a time to first token of 0.5 s.
func (c *Cell) backlog() {
	for i := range 20 {
		r := sentLine("B", i, -4)
		c.Requests = append(c.Requests, r)
	}
	next := 0
	for t := 0.0; next < 130; t += 0.25 {
		for ; next < 130 && float64(next) < progressOfA(t); next++ {
			r := sentLine("A", next, t)
			for _, b := range schedule.Bands(c.Metadata.Profile.Interactive) {
				if t >= b.Start.Seconds() && t < b.End.Seconds() {
					r.Phase, r.Cycle, r.Warmup = ptr(b.Phase), ptr(int32(b.Cycle)), b.Warmup
				}
			}
			c.Requests = append(c.Requests, r)
		}
	}
	for t := -5.0; t <= 135; t += 5 {
		a := record.Job{Job: "A", Status: "in_progress", Total: 130, Completed: int64(progressOfA(t)), CompletionWindowS: 300}
		if t >= 135 {
			a.Status, a.CompletedAt = "completed", ptr(at(132.5))
		}
		c.observe(t, a)
	}
	c.observe(-5, record.Job{Job: "B", Status: "in_progress", Total: 20, CompletionWindowS: 60})
	c.observe(-3, record.Job{Job: "B", Status: "completed", Total: 20, Completed: 20, CompletedAt: ptr(at(-3)), CompletionWindowS: 60})
}

func (c *Cell) observe(t float64, j record.Job) {
	j.ObservedAt, j.CreatedAt, j.InProgressAt = at(t), ptr(at(-5)), ptr(at(-5))
	c.Jobs = append(c.Jobs, j)
}

// line is a result of the Batch API, which says nothing about times.
func line(job string, i int, status string) record.Request {
	return record.Request{
		Class: record.ClassBatch, Job: ptr(job), CustomID: ptr(fmt.Sprintf("job-%s-%04d", job, i)),
		RequestID: fmt.Sprintf("batch_req_%s%d", job, i), Attempt: 1, Status: status,
	}
}

func sentLine(job string, i int, sent float64) record.Request {
	r := answered(sent, 0, 0.5)
	r.DueAt, r.LatenessS, r.TTFTFromDueS, r.E2EFromDueS = nil, nil, nil, nil
	r.DoneAt, r.E2ES = ptr(at(sent+4)), ptr(4.0) // so that one is always under way
	r.Class, r.Job, r.CustomID = record.ClassBatchEquivalent, ptr(job), ptr(fmt.Sprintf("job-%s-%04d", job, i))
	r.RequestID = fmt.Sprintf("%s%d", job, i)
	return r
}

// samples are a few scrapes of the servers.
func (c *Cell) samples() {
	for t := -5.0; t <= 135; t += 35 {
		for _, s := range []record.Sample{
			{Source: "vllm-0", Metric: "vllm:num_requests_running", Value: 8 + t/10, Type: "gauge"},
			{Source: "vllm-0", Metric: "vllm:prompt_tokens_total", Value: 1e6, Type: "counter"},
			{Source: "processor", Metric: "batch_processor_aimd_concurrency_limit", Value: 10, Type: "gauge"},
		} {
			s.At, s.Canonical, s.Labels = at(t), s.Metric, "{}"
			c.Samples = append(c.Samples, s)
		}
	}
}

// Answer gives each ok line an output that follows from its custom_id, and the first n of
// them another one.
func (c *Cell) Answer(n int) {
	for i := range c.Requests {
		q := &c.Requests[i]
		if q.CustomID == nil || q.Status != record.StatusOK {
			continue
		}
		text := "output of " + *q.CustomID
		if n > 0 {
			n--
			text = "something else"
		}
		q.OutputSHA256 = &text
	}
}

// Arm changes the arm that the cell says it was measured with.
func (c *Cell) Arm(change func(*spec.Arm)) {
	var stack struct {
		SchemaVersion int      `json:"schema_version"`
		Arm           spec.Arm `json:"arm"`
	}
	if err := json.Unmarshal(c.Metadata.Stack, &stack); err != nil {
		panic(err)
	}
	change(&stack.Arm)
	text, err := json.Marshal(stack)
	if err != nil {
		panic(err)
	}
	c.Metadata.Stack = text
}

// Series adds a series that was sampled once a second while the cell ran. labels is
// JSON, and a value that is not a number is a sample that is missing.
func (c *Cell) Series(source, metric, labels string, value func(t float64) float64) {
	var names map[string]string
	if err := json.Unmarshal([]byte(labels), &names); err != nil {
		panic(err)
	}
	for t := -5.0; t <= 135; t++ {
		v := value(t)
		if math.IsNaN(v) {
			continue
		}
		s := record.Sample{
			Experiment: c.Metadata.Experiment, Arm: c.Metadata.Arm, Trial: int32(c.Metadata.Trial),
			Source: source, At: at(t), Metric: metric, Canonical: metric, Value: v, Type: "gauge", Labels: labels,
		}
		if le, ok := names["le"]; ok {
			s.LE = &le
		}
		c.Samples = append(c.Samples, s)
	}
}

// Write writes the files of the cell to dir.
func (c Cell) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "requests.parquet"), c.Requests); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "jobs.parquet"), c.Jobs); err != nil {
		return err
	}
	if len(c.Samples) > 0 {
		if err := write(filepath.Join(dir, "metrics.parquet"), c.Samples); err != nil {
			return err
		}
	}
	metadata, err := json.Marshal(c.Metadata)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "run-metadata.json"), metadata, 0o644)
}

func write[T record.Row](path string, rows []T) error {
	w, err := record.Create[T](path, nil)
	if err != nil {
		return err
	}
	if err := w.Write(rows...); err != nil {
		return err
	}
	return w.Close()
}

// Stream writes the cell as it travels on a pipe.
func (c Cell) Stream(w io.Writer) error {
	metadata, err := json.Marshal(c.Metadata)
	if err != nil {
		return err
	}
	meta := map[string]string{"bg.run": string(metadata)}
	if err := stream(w, meta, c.Requests); err != nil {
		return err
	}
	return stream(w, meta, c.Jobs)
}

func stream[T record.Row](w io.Writer, meta map[string]string, rows []T) error {
	s, err := record.NewStreamWriter[T](w, meta)
	if err != nil {
		return err
	}
	if err := s.Write(rows...); err != nil {
		return err
	}
	return s.Close()
}
