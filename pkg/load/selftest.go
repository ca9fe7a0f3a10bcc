package load

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
	"bgbench/pkg/stats"
)

// SelfTest looks for the highest load that this machine drives within the limits of
// a generator that keeps its schedule (record.LoadHealth.Faults). The requests are
// real ones, to a server in the same process, and their rows go to a real file.
type SelfTest struct {
	Rung                time.Duration // length of one try
	MaxRate, MaxStreams int           // where the search ends without having found a limit
	Dir                 string        // for the rows, which are removed; empty for the system's temporary files
	Progress            func(Rung)    // may be nil
}

// Rung is one try of a self-test.
type Rung struct {
	What   string // requests/s or streams
	Load   int
	Health record.LoadHealth
	Faults []string // why the machine did not manage; none if it did
	// Over is what each answer took beyond the pace of its tokens, in seconds and in order.
	Over []float64
}

// SelfTestResult is the highest load of each kind that held.
type SelfTestResult struct {
	Requests Limit
	Streams  Limit
}

// Limit is the end of a search: the best rung that held, Load 0 if none did, and the
// lowest that did not, Load 0 if none did not.
type Limit struct{ Held, Failed Rung }

func (l Limit) String() string {
	text := fmt.Sprintf("%d %s", l.Held.Load, l.Held.What)
	if l.Held.Load == 0 {
		text = "no " + l.Failed.What
	}
	if l.Failed.Load == 0 {
		return text + " or more (the search ended there)"
	}
	return fmt.Sprintf("%s (at %d: %s)", text, l.Failed.Load, strings.Join(l.Failed.Faults, "; "))
}

// selfTokenGap: the streams of a self-test bring 50 tokens a second each, a fast
// model's pace.
const selfTokenGap = 20 * time.Millisecond

// Run searches. The load doubles until it fails twice in a row, and the gap between
// the last that held and the first that failed is halved to a tenth.
func (s SelfTest) Run(ctx context.Context) (SelfTestResult, error) {
	server, err := newSelfServer()
	if err != nil {
		return SelfTestResult{}, err
	}
	defer server.Close()
	var out SelfTestResult
	if out.Requests, err = s.search(250, s.MaxRate, func(rate int) (Rung, error) {
		n := max(1, int(float64(rate)*s.Rung.Seconds()))
		return s.try(ctx, server.URL, Rung{What: "requests/s", Load: rate}, n, s.Rung, 1, 0)
	}); err != nil {
		return out, err
	}
	out.Streams, err = s.search(50, s.MaxStreams, func(streams int) (Rung, error) {
		// They open during a third of the rung and stay open until all are there.
		tokens := int(s.Rung / selfTokenGap)
		return s.try(ctx, server.URL, Rung{What: "streams", Load: streams}, streams, s.Rung/3, tokens, selfTokenGap)
	})
	return out, err
}

func (s SelfTest) search(load, most int, try func(load int) (Rung, error)) (Limit, error) {
	var l Limit
	holds := func(load int) (bool, error) {
		for range 2 { // one hiccup of a shared machine is no limit
			rung, err := try(load)
			if err != nil {
				return false, err
			}
			if s.Progress != nil {
				s.Progress(rung)
			}
			if len(rung.Faults) == 0 {
				l.Held = rung
				return true, nil
			}
			l.Failed = rung
		}
		return false, nil
	}
	for ok := true; ok; load *= 2 {
		load = min(load, most)
		var err error
		if ok, err = holds(load); err != nil {
			return l, err
		}
		if ok {
			l.Failed = Rung{}
			if load == most {
				return l, nil
			}
		}
	}
	for l.Failed.Load-l.Held.Load > max(1, l.Failed.Load/10) {
		failed := l.Failed
		ok, err := holds((l.Held.Load + l.Failed.Load) / 2)
		if err != nil {
			return l, err
		}
		if ok { // perhaps at the second try
			l.Failed = failed
		}
	}
	return l, nil
}

// try sends n requests at equal gaps during length and judges how that went.
func (s SelfTest) try(ctx context.Context, url string, rung Rung, n int, length time.Duration, tokens int, gap time.Duration) (Rung, error) {
	dir, err := os.MkdirTemp(s.Dir, "bg-load-self-test-")
	if err != nil {
		return Rung{}, err
	}
	defer os.RemoveAll(dir)
	out := &judge{expected: time.Duration(tokens) * gap}
	if out.Cell, err = CreateCell(filepath.Join(dir, "cell"), Identity{}, false); err != nil {
		return Rung{}, err
	}
	err = Run(ctx, Options{
		Stack: deploy.Stack{
			Target: spec.TargetLocal, InferenceURL: url, Model: "self", MaxModelLen: 1,
			Arm: spec.Arm{Name: "self-test", Dispatch: spec.DispatchNone},
		},
		StackJSON: []byte("{}"),
		Inputs:    selfInputs(n, length),
		Output:    out,
		Connection: Connection{Header: http.Header{
			selfTokensHeader: {strconv.Itoa(tokens)}, selfGapHeader: {gap.String()},
		}},
		Verdict: func(h record.LoadHealth) { rung.Health = h },
	})
	if err != nil {
		return Rung{}, err
	}
	rung.Faults = append(rung.Health.Faults(), out.faults()...)
	rung.Over = out.over
	return rung, nil
}

// selfInputs is a schedule of equal gaps. Its prompt is as long as the 1,500 tokens
// of the default profile.
func selfInputs(n int, length time.Duration) *inputs.Set {
	set := &inputs.Set{
		Manifest: inputs.Manifest{Experiment: "self-test", Trial: 1, Profile: spec.Profile{
			Name: "self-test", Model: "self", MaxModelLen: 1,
			Interactive: spec.Interactive{
				Cycles: 1, RequestTimeout: spec.Duration(time.Minute),
				Phases: []spec.Phase{{Name: "rung", Rate: float64(n) / length.Seconds(), Duration: spec.Duration(length), Class: spec.ClassInteractive}},
			},
			Drain: spec.Drain{Interactive: spec.Duration(time.Minute)},
		}},
		Prompts: []inputs.Prompt{{User: strings.Repeat("word ", 1200)}},
	}
	for i := range n {
		set.Schedule = append(set.Schedule, inputs.Due{
			I: i, DueNS: int64(i) * int64(length) / int64(n), Phase: "rung", Class: record.ClassInteractive,
		})
	}
	return set
}

// judge is a cell that looks at its rows on their way to the disk.
type judge struct {
	*Cell
	expected time.Duration // of a whole stream
	over     []float64     // what the streams took beyond it
	failed   int
	why      string
}

// WriteRequests implements Output.
func (j *judge) WriteRequests(rows ...record.Request) error {
	for _, row := range rows {
		if row.Status != record.StatusOK || row.E2ES == nil {
			j.failed++
			j.why = row.Status
			if row.Error != nil {
				j.why += ": " + *row.Error
			}
			continue
		}
		j.over = append(j.over, *row.E2ES-j.expected.Seconds())
	}
	return j.Cell.WriteRequests(rows...)
}

// faults says what the answers show: the server does nothing, so that what a request
// takes beyond its pace is the machine's.
func (j *judge) faults() []string {
	var faults []string
	if j.failed > 0 {
		faults = append(faults, fmt.Sprintf("%d requests failed, such as with %s", j.failed, j.why))
	}
	if len(j.over) > 0 {
		slices.Sort(j.over)
		if p99 := stats.Quantile(j.over, 0.99); p99 > record.LatenessLimitS {
			faults = append(faults, fmt.Sprintf("answers p99 %.1f ms late, above %.0f ms", 1e3*p99, 1e3*record.LatenessLimitS))
		}
	}
	return faults
}
