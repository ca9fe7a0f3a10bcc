package draw

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/spec"
)

func trial(t testing.TB, profile string, number int, sets ...string) Trial {
	t.Helper()
	p, err := spec.LoadProfile(profile, sets)
	if err != nil {
		t.Fatal(err)
	}
	return Trial{"test", "", p, number}
}

// write draws tr into a new folder and returns the folder.
func write(t testing.TB, tr Trial) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "t")
	if _, drawn, err := tr.Write(dir); err != nil || !drawn {
		t.Fatalf("drawn %t, %v", drawn, err)
	}
	return dir
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

func TestSameTrialHasTheSameBytesOnAnyNumberOfCPUs(t *testing.T) {
	first := contents(t, write(t, trial(t, "ci", 1)))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, text := range contents(t, write(t, trial(t, "ci", 1))) {
		if first[name] != text {
			t.Errorf("%s differs", name)
		}
	}
	other := contents(t, write(t, trial(t, "ci", 2)))
	for name := range first {
		if first[name] == other[name] {
			t.Errorf("%s is the same in another trial", name)
		}
	}
}

// Bytes that were published must come out again. A change here is a change of every
// result, and belongs into the release notes.
func TestInputsOfCIAreKnown(t *testing.T) {
	m, _, err := trial(t, "ci", 1).Write(filepath.Join(t.TempDir(), "t"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		inputs.PromptsName:  "602091979d4dc0f95c9edc66b300effb7dc8ec9df408b16f7d57c4f350d26039",
		inputs.ScheduleName: "cc8771af4eaa761e1b96954b950070735246662c7979cc41c10ae6f865babdff",
		"job-A.jsonl":       "0cb1c62d44a0c82585d2c2ad25ef8debce889054a1c5ab88558a01660933edcf",
	} {
		for _, f := range m.Files {
			if f.Name == name && f.SHA256 != want {
				t.Errorf("%s has SHA-256 %s, want %s", name, f.SHA256, want)
			}
		}
	}
}

func TestAJobMoreLeavesTheOthersAsTheyWere(t *testing.T) {
	before := contents(t, write(t, trial(t, "ci", 1)))
	after := contents(t, write(t, trial(t, "ci", 1,
		"batch.jobs=[{name: new, requests: 5, window: 1m}, {name: B, requests: 550, window: 15m}]")))
	for _, name := range []string{inputs.PromptsName, inputs.ScheduleName, "job-B.jsonl"} {
		if before[name] != after[name] {
			t.Errorf("%s changed", name)
		}
	}
	if _, ok := after["job-new.jsonl"]; !ok {
		t.Error("job-new.jsonl is missing")
	}
}

func TestJobLinesShareTheSystemPromptsOfThePrompts(t *testing.T) {
	dir := write(t, trial(t, "ci", 1))
	set, err := inputs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range set.Jobs {
		data, err := os.ReadFile(job.Path)
		if err != nil {
			t.Fatal(err)
		}
		for i, raw := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
			var line openai.BatchLine
			var body openai.ChatRequest
			if err := errors.Join(json.Unmarshal([]byte(raw), &line), json.Unmarshal(line.Body, &body)); err != nil {
				t.Fatal(err)
			}
			if got, want := body.Messages[0].Content, set.Systems[i%len(set.Systems)]; got != want {
				t.Fatalf("%s line %d has the system prompt %.30q, want %.30q", job.Path, i+1, got, want)
			}
			if body.Model != set.Manifest.Profile.Model || !body.IgnoreEOS {
				t.Fatalf("%s line %d: model %s, ignore_eos %t", job.Path, i+1, body.Model, body.IgnoreEOS)
			}
		}
	}
}

func TestClassesHaveTheirOwnPrompts(t *testing.T) {
	set, err := inputs.Open(write(t, trial(t, "ci", 1,
		"interactive.prompt={isl: {type: fixed, mean: 20, sd: 0}, osl: {type: fixed, mean: 9, sd: 0}}",
		"batch.prompt.systemPrompts={count: 0, tokens: 0}",
		"interactive.phases.idle.class=standard",
		"prompt.cacheSalt=true")))
	if err != nil {
		t.Fatal(err)
	}
	asked := set.Manifest.Profile.InteractivePrompt()
	for _, p := range set.Prompts {
		if p.PromptTokens != asked.Overhead()+20 || p.MaxTokens != 9 || p.SystemPrompt == nil {
			t.Fatalf("found the prompt %+v, want %d and 9 tokens with a system prompt", p, asked.Overhead()+20)
		}
	}
	for _, d := range set.Schedule {
		if want := map[string]string{"burst": spec.ClassInteractive, "idle": spec.ClassStandard}[d.Phase]; d.Class != want {
			t.Fatalf("found %+v, want class %s", d, want)
		}
	}
	content, err := set.Jobs[0].Content()
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		var line openai.BatchLine
		var body openai.ChatRequest
		if err := errors.Join(json.Unmarshal([]byte(raw), &line), json.Unmarshal(line.Body, &body)); err != nil {
			t.Fatal(err)
		}
		if len(body.Messages) != 1 || body.CacheSalt != "test/t1" || body.CacheSalt != set.Manifest.CacheSalt() {
			t.Fatalf("found the line %.300s, want one message and the cache salt test/t1", raw)
		}
	}
	for _, l := range set.Manifest.Lengths {
		if want := map[string]float64{"interactive": 20, "batch": 150}[l.Class]; l.Quantity == "isl" && l.Requested.Mean != want {
			t.Errorf("found that a mean of %g was asked for in class %s, want %g", l.Requested.Mean, l.Class, want)
		}
	}
}

func TestPromptsOnAPipeAreThoseOfTheFolder(t *testing.T) {
	var pipe bytes.Buffer
	lengths, err := trial(t, "ci", 1).Prompts(&pipe)
	if err != nil {
		t.Fatal(err)
	}
	if want := contents(t, write(t, trial(t, "ci", 1)))[inputs.PromptsName]; pipe.String() != want {
		t.Error("the lines differ")
	}
	if len(lengths) != 2 || lengths[0].Quantity != "isl" || lengths[0].N != strings.Count(pipe.String(), `{"prompt":`) {
		t.Errorf("found the lengths %+v", lengths)
	}
}

func TestDrawingIntoAFolderThatIsThere(t *testing.T) {
	for name, test := range map[string]struct {
		before func(t *testing.T, dir string)
		drawn  bool
		want   string
	}{
		"nothing there":      {func(*testing.T, string) {}, true, ""},
		"an empty folder":    {func(t *testing.T, dir string) { mkdir(t, dir) }, true, ""},
		"the same trial":     {func(t *testing.T, dir string) { put(t, dir, trial(t, "ci", 1)) }, false, ""},
		"another trial":      {func(t *testing.T, dir string) { put(t, dir, trial(t, "ci", 2)) }, false, "found trial 2 of experiment test (profile ci, seed 43), expected trial 1"},
		"another experiment": {func(t *testing.T, dir string) { put(t, dir, Trial{"other", "", trial(t, "ci", 1).Profile, 1}) }, false, "found trial 1 of experiment other"},
		"another profile":    {func(t *testing.T, dir string) { put(t, dir, trial(t, "ci", 1, "drain.jobs=2m")) }, false, "drawn from other settings of its profile"},
		"a stranger's files": {func(t *testing.T, dir string) { mkdir(t, dir); touch(t, filepath.Join(dir, "thesis.tex")) }, false, "found thesis.tex and no inputs.json"},
		"a damaged manifest": {func(t *testing.T, dir string) { mkdir(t, dir); touch(t, filepath.Join(dir, "inputs.json")) }, false, "found a damaged folder"},
		"a damaged job": {func(t *testing.T, dir string) {
			put(t, dir, trial(t, "ci", 1))
			touch(t, filepath.Join(dir, "job-A.jsonl"))
		}, false, "found a damaged folder: "},
		"a file, not a folder": {func(t *testing.T, dir string) { touch(t, dir) }, false, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "t1")
			test.before(t, dir)
			_, drawn, err := trial(t, "ci", 1).Write(dir)
			if drawn != test.drawn {
				t.Errorf("drawn is %t, want %t", drawn, test.drawn)
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("found the error %v, want %q", err, test.want)
			}
		})
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, dir string, tr Trial) {
	t.Helper()
	if _, _, err := tr.Write(dir); err != nil {
		t.Fatal(err)
	}
}

func TestAJobBeyondTheGatewaysLimitLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	tr := trial(t, "ci", 1, "interactive.phases.0.rate=0", "prompt.systemPrompts={count: 0, tokens: 0}",
		"prompt.isl={type: fixed, mean: 1, sd: 0, min: 1}", "batch.jobs=[{name: big, requests: 50000, window: 1h}]")
	tr.Profile.Batch.Jobs[0].Requests++ // what the rules of profiles would have refused
	_, _, err := tr.Write(filepath.Join(parent, "t1"))
	var limit inputs.LimitError
	if !errors.As(err, &limit) || !strings.Contains(err.Error(), "job-big.jsonl") {
		t.Errorf("found %v, want a LimitError on job-big.jsonl", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("found %v, %v", left, err)
	}
}

// BenchmarkTrial draws a whole trial of the canonical profile.
func BenchmarkTrial(b *testing.B) {
	tr := trial(b, "default", 1)
	parent := b.TempDir()
	tokens, size := 0.0, int64(0)
	b.ReportAllocs()
	for b.Loop() {
		dir := filepath.Join(parent, "t")
		m, _, err := tr.Write(dir)
		if err != nil {
			b.Fatal(err)
		}
		size = 0
		for _, f := range m.Files {
			size += f.Bytes
		}
		for _, l := range m.Lengths {
			if l.Quantity == "isl" {
				tokens += l.Mean * float64(l.N)
			}
		}
		b.StopTimer()
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.SetBytes(size)
	b.ReportMetric(tokens/b.Elapsed().Seconds(), "tokens/s")
}
