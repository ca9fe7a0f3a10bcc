package inputs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bgbench/pkg/inputs"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/openai"
	"bgbench/pkg/spec"
	"bgbench/pkg/token"
)

// drawn draws a small trial into a folder.
func drawn(t testing.TB, sets ...string) string {
	t.Helper()
	small := []string{"batch.jobs=[{name: A, requests: 20, window: 5m}, {name: B, requests: 10, window: 1h}]"}
	p, err := spec.LoadProfile("ci", append(small, sets...))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "t1")
	if _, _, err := (draw.Trial{Experiment: "test", Profile: p, Number: 1}).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, dir string) *inputs.Set {
	t.Helper()
	s, err := inputs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpenedInputsAreWhatTheProfileAsksFor(t *testing.T) {
	dir := drawn(t)
	s := open(t, dir)
	if len(s.Systems) != 8 || len(s.Prompts) != len(s.Schedule) || len(s.Prompts) == 0 {
		t.Errorf("found %d system prompts, %d prompts, %d due times", len(s.Systems), len(s.Prompts), len(s.Schedule))
	}
	for i, p := range s.Prompts {
		messages := s.Messages(i)
		if len(messages) != 2 || messages[0] != (openai.Message{Role: "system", Content: s.Systems[i%8]}) || messages[1].Content != p.User {
			t.Fatalf("prompt %d does not take the system prompts in turn: %.60v", i, messages)
		}
		chat := []token.Message{{Role: "system", Content: messages[0].Content}, {Role: "user", Content: messages[1].Content}}
		if got := token.CountChat(chat); got != p.PromptTokens {
			t.Errorf("prompt %d says %d tokens, its chat has %d", i, p.PromptTokens, got)
		}
	}
	want := []inputs.JobFile{
		{Name: "A", Path: filepath.Join(dir, "job-A.jsonl"), Requests: 20, Window: 5 * time.Minute},
		{Name: "B", Path: filepath.Join(dir, "job-B.jsonl"), Requests: 10, Window: time.Hour},
	}
	if diff := cmp.Diff(want, s.Jobs, cmpopts.IgnoreUnexported(inputs.JobFile{})); diff != "" {
		t.Errorf("the jobs differ (- want, + found):\n%s", diff)
	}
	for _, job := range s.Jobs {
		want, err := os.ReadFile(job.Path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := job.Content(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("job %s: found a content of %d bytes (%v), want the %d of its file", job.Name, len(got), err, len(want))
		}
	}
}

func TestInputsWithoutSystemPromptsOrJobs(t *testing.T) {
	s := open(t, drawn(t, "prompt.systemPrompts={count: 0, tokens: 0}", "batch.jobs=[]"))
	if got := s.Messages(0); len(got) != 1 || got[0].Role != "user" {
		t.Errorf("found %+v, want the user's message alone", got)
	}
	if len(s.Jobs) != 0 {
		t.Errorf("found %d jobs", len(s.Jobs))
	}
}

// edit replaces text in a file of the folder, and reseals it where resealed is set.
func edit(t *testing.T, dir, name, old, replacement string, resealed bool) {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !strings.Contains(text, old) {
		t.Fatalf("%s does not contain %q", name, old)
	}
	text = strings.Replace(text, old, replacement, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if !resealed {
		return
	}
	before, after := sha256.Sum256(data), sha256.Sum256([]byte(text))
	edit(t, dir, inputs.ManifestName, hex.EncodeToString(before[:]), hex.EncodeToString(after[:]), false)
}

// lineOf returns line n, from 1, of a file of the folder, its end included.
func lineOf(t *testing.T, dir, name string, n int) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(string(data), "\n")[n-1]
}

func TestDamagedInputsAreRefusedWithFileAndLine(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"a prompt is missing": {func(t *testing.T, dir string) {
			edit(t, dir, "prompts.jsonl", lineOf(t, dir, "prompts.jsonl", 10), "", false)
		}, "prompts.jsonl:10: prompt: found 2, expected 1"},
		"a prompt is missing and the file was sealed again": {func(t *testing.T, dir string) {
			edit(t, dir, "prompts.jsonl", lineOf(t, dir, "prompts.jsonl", 10), "", true)
		}, "prompts.jsonl:10: prompt: found 2, expected 1"},
		"a system prompt is missing": {func(t *testing.T, dir string) {
			edit(t, dir, "prompts.jsonl", lineOf(t, dir, "prompts.jsonl", 1), "", false)
		}, "prompts.jsonl:1: system_prompt: found 1, expected 0"},
		"a system prompt stands too late": {func(t *testing.T, dir string) {
			edit(t, dir, "prompts.jsonl", lineOf(t, dir, "prompts.jsonl", 9), lineOf(t, dir, "prompts.jsonl", 9)+lineOf(t, dir, "prompts.jsonl", 8), false)
		}, "prompts.jsonl:10: found a system prompt"},
		"a prompt names a system prompt that is not there": {func(t *testing.T, dir string) {
			edit(t, dir, "prompts.jsonl", `"system_prompt":7,"user"`, `"system_prompt":8,"user"`, false)
		}, "prompts.jsonl:16: system_prompt: found 8, expected 0 to 7"},
		"a prompt asks for no answer": {func(t *testing.T, dir string) {
			line := lineOf(t, dir, "prompts.jsonl", 9)
			cut := line[:strings.Index(line, `"max_tokens"`)]
			edit(t, dir, "prompts.jsonl", line, cut+"\"max_tokens\":0}\n", false)
		}, "prompts.jsonl:9: max_tokens: found 0, expected 1 or more"},
		"a prompt does not fit the context": {func(t *testing.T, dir string) {
			line := lineOf(t, dir, "prompts.jsonl", 9)
			cut := line[:strings.Index(line, `"max_tokens"`)]
			edit(t, dir, "prompts.jsonl", line, cut+"\"max_tokens\":3000}\n", false)
		}, "prompts.jsonl:9: max_tokens: found 3000 after"},
		"a key is unknown": {func(t *testing.T, dir string) {
			edit(t, dir, "prompts.jsonl", `"user"`, `"person"`, false)
		}, `prompts.jsonl:9: person: found a key that is not known`},
		"a line is no JSON": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", lineOf(t, dir, "schedule.jsonl", 3), "oops\n", false)
		}, "schedule.jsonl:3: not JSON at byte 1: invalid character 'o'"},
		"a number is text": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"i":2,`, `"i":"two",`, false)
		}, "schedule.jsonl:3: i: found a JSON string, expected a whole number"},
		"the file was cut": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "schedule.jsonl")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()-5); err != nil {
				t.Fatal(err)
			}
		}, "found no end of the line"},
		"the last line is missing": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", lineOf(t, dir, "schedule.jsonl", len(open(t, dir).Schedule)), "", false)
		}, " lines, expected "},
		"the schedule skips an index": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"i":4,`, `"i":5,`, false)
		}, "schedule.jsonl:5: i: found 5, expected 4"},
		"the schedule points at no prompt": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"prompt":4}`, `"prompt":99999}`, false)
		}, "schedule.jsonl:5: prompt: found 99999, expected 0 to "},
		"a class is unknown": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"class":"interactive","prompt":3`, `"class":"online","prompt":3`, false)
		}, `schedule.jsonl:4: class: found "online", expected interactive, the class of phase burst`},
		"a due time is negative": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"due_ns":`, `"due_ns":-`, false)
		}, "schedule.jsonl:1: due_ns: found -"},
		"due times are out of order": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"i":4,"due_ns":`, `"i":4,"due_ns":1,"x":`, false)
			edit(t, dir, "schedule.jsonl", `,"x":`+strings.Split(strings.Split(lineOf(t, dir, "schedule.jsonl", 5), `"x":`)[1], ",")[0], "", false)
		}, "schedule.jsonl:5: due_ns: found 1 after"},
		"a phase is unknown": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"phase":"burst"`, `"phase":"rush"`, false)
		}, `schedule.jsonl:1: phase: found "rush" in cycle 0`},
		"a request is due outside of its phase": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"phase":"burst"`, `"phase":"idle"`, false)
		}, "phase idle of cycle 0"},
		"the warm-up is not the profile's": {func(t *testing.T, dir string) {
			edit(t, dir, "schedule.jsonl", `"warmup":true`, `"warmup":false`, false)
		}, "schedule.jsonl:1: warmup: found false, expected true in cycle 0"},
		"a text was changed": {func(t *testing.T, dir string) {
			edit(t, dir, "prompts.jsonl", `"user":"`, `"user":"x`, false)
		}, "prompts.jsonl: found SHA-256 "},
		"two batch lines have one id": {func(t *testing.T, dir string) {
			edit(t, dir, "job-A.jsonl", "A-000003", "A-000002", false)
		}, `job-A.jsonl:4: custom_id: found "A-000002" twice`},
		"a batch line is missing": {func(t *testing.T, dir string) {
			edit(t, dir, "job-A.jsonl", lineOf(t, dir, "job-A.jsonl", 3), "", false)
		}, "job-A.jsonl:19: found 19 lines, expected 20"},
		"a batch line goes elsewhere": {func(t *testing.T, dir string) {
			edit(t, dir, "job-B.jsonl", "/v1/chat/completions", "/v1/embeddings", false)
		}, `job-B.jsonl:1: url: found "/v1/embeddings"`},
		"a batch line's content is in parts": {func(t *testing.T, dir string) {
			edit(t, dir, "job-B.jsonl", `"content":"`, `"content":["`, false)
		}, "job-B.jsonl:1: "},
		"a job file is missing": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "job-B.jsonl")); err != nil {
				t.Fatal(err)
			}
		}, "job-B.jsonl: the file is missing, but inputs.json lists it"},
		"the manifest forgets a file": {func(t *testing.T, dir string) {
			edit(t, dir, "inputs.json", "job-B.jsonl", "job-X.jsonl", false)
		}, "expected job-B.jsonl too"},
		"the manifest has another number of requests": {func(t *testing.T, dir string) {
			edit(t, dir, "inputs.json", `"lines": 10`, `"lines": 11`, false)
		}, "job-B.jsonl: found 11 lines, expected 10, the requests of job B"},
		"the manifest is of another version": {func(t *testing.T, dir string) {
			edit(t, dir, "inputs.json", `"schema_version": 1`, `"schema_version": 2`, false)
		}, "inputs.json: schema_version: found 2, expected 1"},
		"the manifest's profile breaks a rule": {func(t *testing.T, dir string) {
			edit(t, dir, "inputs.json", `"cycles": 3`, `"cycles": 0`, false)
		}, "interactive.cycles: found 0, expected 1 or more"},
		"the manifest is cut": {func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "inputs.json"), 100); err != nil {
				t.Fatal(err)
			}
		}, "inputs.json:7: not JSON: unexpected end of JSON input"},
		"there is no manifest": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "inputs.json")); err != nil {
				t.Fatal(err)
			}
		}, "opening inputs: open "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := drawn(t)
			test.damage(t, dir)
			_, err := inputs.Open(dir)
			if err == nil {
				t.Fatalf("found no error, want one with %q", test.want)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not contain %q", err, test.want)
			}
		})
	}
}

func TestManifestKeysAreSnakeCaseOrTheProfilesOwn(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(drawn(t), inputs.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Profile struct {
			MaxModelLen int `json:"maxModelLen"`
			Drain       struct{ Jobs string }
		}
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if m.Profile.MaxModelLen != 2048 || m.Profile.Drain.Jobs != "1m" {
		t.Errorf("found %+v", m.Profile)
	}
}

// BenchmarkOpen opens the inputs of a trial of the profile ci.
func BenchmarkOpen(b *testing.B) {
	dir := drawn(b)
	b.ReportAllocs()
	for b.Loop() {
		open(b, dir)
	}
}
