package load

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bgbench/pkg/inputs"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/spec"
)

func TestALineIsScannedOnlyWhereScanningIsSafe(t *testing.T) {
	for _, c := range []struct {
		name, line string
		id         string
		maxTokens  int64 // 0 where the line is left to the decoder
	}{
		{"as bg-gen writes it", string(inputs.AppendJobLine(nil, inputs.JobLine{CustomID: "A-1", Model: "m", User: "hi", MaxTokens: 120, IgnoreEOS: true})), "A-1", 120},
		{"without ignore_eos", string(inputs.AppendJobLine(nil, inputs.JobLine{CustomID: "A-1", Model: "m", User: "hi", MaxTokens: 7})), "A-1", 7},
		{"with a cache salt", string(inputs.AppendJobLine(nil, inputs.JobLine{CustomID: "A-1", Model: "m", User: "hi", MaxTokens: 7, IgnoreEOS: true, CacheSalt: strings.Repeat("x", 63) + "/t1000"})), "A-1", 7},
		{"a text that speaks of the key", `{"custom_id":"x","body":{"messages":[{"content":"\"max_tokens\":9"}],"max_tokens":5}}`, "x", 5},
		{"the id comes later", `{"method":"POST","custom_id":"x","body":{"max_tokens":5}}`, "", 0},
		{"an id with an escape", `{"custom_id":"\u0041","body":{"max_tokens":5}}`, "", 0},
		{"max_tokens before the texts", `{"custom_id":"x","body":{"max_tokens":5,"messages":[{"role":"user","content":"` + strings.Repeat("long ", 20) + `"}]}}`, "", 0},
		{"no max_tokens", `{"custom_id":"x","body":{}}`, "", 0},
		{"a fraction", `{"custom_id":"x","body":{"max_tokens":5.5}}`, "", 0},
		{"cut", `{"custom_id":"x","body":{"max_tokens":5`, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, n, ok := scanHead([]byte(c.line))
			if ok != (c.maxTokens > 0) || ok && (id != c.id || n != c.maxTokens) {
				t.Errorf("found %q %d %v, expected %q %d", id, n, ok, c.id, c.maxTokens)
			}
		})
	}
}

func TestAFaultInAJobFileIsNamedByItsLine(t *testing.T) {
	line := string(inputs.AppendJobLine(nil, inputs.JobLine{CustomID: "A-1", Model: "m", User: "hi", MaxTokens: 7}))
	for _, c := range []struct{ name, text, dispatch, want string }{
		{"no JSON", line + "nonsense\n", spec.DispatchSync, ":2: not JSON at byte 2: invalid character"},
		{"an id twice", line + line, spec.DispatchSync, `:2: custom_id: "A-1" is on an earlier line, too`},
		{"no JSON in a backlog", line + "nonsense\n", spec.DispatchBacklog, ":2: not JSON at byte 2: invalid character"},
		{"a body that is no chat request", `{"custom_id":"x","body":7}` + "\n", spec.DispatchBacklog, ":1: body: found a JSON number, expected an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "job-A.jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			set := &inputs.Set{Jobs: []inputs.JobFile{{Name: "A", Path: path}}}
			_, err := ReadWork(set, spec.Arm{Dispatch: c.dispatch, Backlog: spec.Backlog{Concurrency: 1}})
			if err == nil || !strings.HasPrefix(err.Error(), path+c.want) {
				t.Errorf("found error %v, expected %s%s", err, path, c.want)
			}
		})
	}
}

func FuzzScanHead(f *testing.F) {
	f.Add(inputs.AppendJobLine(nil, inputs.JobLine{CustomID: "A-1", Model: "m", User: "hi", MaxTokens: 120, IgnoreEOS: true}))
	f.Add([]byte(`{"custom_id":"x","body":{"max_tokens":5}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		id, n, ok := scanHead(line)
		wantID, want, err := decodeHead(line)
		// Lines that are no JSON never come here: inputs are sealed by their hash. Keys
		// that are there twice or stand elsewhere do not occur in them either.
		if !ok || err != nil || bytes.Count(line, []byte("max_tokens")) != 1 || bytes.Count(line, []byte("custom_id")) != 1 || want == 0 {
			return
		}
		if id != wantID || n != want {
			t.Errorf("scanned %q %d, decoded %q %d", id, n, wantID, want)
		}
	})
}

// BenchmarkReadWork reads the jobs of profile default for arm s2.
func BenchmarkReadWork(b *testing.B) {
	o := modelOptions(b, "default", "s2-ungated", nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadWork(o.Inputs, o.Stack.Arm); err != nil {
			b.Fatal(err)
		}
	}
}

// The two readers of a backlog's line agree wherever the fast one dares.
func FuzzScanLineAgreesWithJSON(f *testing.F) {
	f.Add(`{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hi\n"}],"max_tokens":5,"ignore_eos":true}}`)
	f.Add(`{"custom_id":"x"}`)
	f.Add(`{"body":{"model":"m","stream":true,"stop":["a"],"messages":[]}}`)
	f.Fuzz(func(t *testing.T, line string) {
		id, chat, ok := gateway.ScanLine(line)
		if !ok {
			return
		}
		wantID, want, err := decodeLine([]byte(line))
		if err != nil {
			t.Fatalf("scanned %q, but decoding it fails: %v", line, err)
		}
		chat.Stream, want.Stream = true, true // as a backlog sets it
		if id != wantID || !cmp.Equal(chat, want, cmpopts.EquateEmpty()) {
			t.Errorf("scanned %q %+v, decoded %q %+v", id, chat, wantID, want)
		}
	})
}

// BenchmarkReadBacklog reads the jobs of profile default for arm s1.
func BenchmarkReadBacklog(b *testing.B) {
	o := modelOptions(b, "default", "s1-no-gateway", nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadWork(o.Inputs, o.Stack.Arm); err != nil {
			b.Fatal(err)
		}
	}
}
