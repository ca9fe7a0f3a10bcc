package openai

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bgbench/pkg/record"
)

func TestClientReadsEveryConformanceCaseAsExpected(t *testing.T) {
	f, err := os.Open("testdata/sse/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	verdicts, err := Conform(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(verdicts) != 26 {
		t.Errorf("found %d cases, expected 26", len(verdicts))
	}
	for _, v := range verdicts {
		t.Run(v.Name, func(t *testing.T) {
			if !v.OK {
				t.Errorf("%s\n%s", v.Why, strings.Join(v.Differences, "\n"))
			}
		})
	}
}

func TestConformNamesWhatIsWrongInAFile(t *testing.T) {
	for name, c := range map[string]struct{ file, message string }{
		"no JSON":              {`cases`, "reading conformance cases: invalid character"},
		"no case":              {`{"cases":[]}`, "cases: found none, expected at least one"},
		"unknown key":          {`{"case":[]}`, `unknown field "case"`},
		"no name":              {`{"cases":[{"reads":[],"expect":{"chunks":0}}]}`, `cases[0].name: found ""`},
		"a name twice":         {`{"cases":[{"name":"a","expect":{"chunks":0}},{"name":"a","expect":{"chunks":0}}]}`, `cases[1].name: found "a", expected a name of its own`},
		"a read not in base64": {`{"cases":[{"name":"a","reads":["!"],"expect":{"chunks":0}}]}`, `cases[0] (a): reads[0]: found "!", expected base64`},
		"nothing expected":     {`{"cases":[{"name":"a","reads":[]}]}`, "cases[0] (a): expect: found nothing"},
		"unknown expectation":  {`{"cases":[{"name":"a","reads":[],"expect":{"chunk":1}}]}`, "cases[0] (a): expect.chunk: unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Conform(strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("found error %v, expected one with %q", err, c.message)
			}
		})
	}
}

func TestConformSaysHowAnAnswerDiffers(t *testing.T) {
	verdicts, err := Conform(strings.NewReader(`{"cases":[{"name":"a","reads":[],"expect":{"status":"ok","chunks":0,"error_contains":"boom","prompt_tokens":null}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	expected := []string{
		`error: found "stream ended without an event", expected a text with "boom"`,
		`status: found "protocol_error", expected "ok"`,
	}
	if found := verdicts[0]; found.OK || strings.Join(found.Differences, "\n") != strings.Join(expected, "\n") {
		t.Errorf("found %+v, expected differences %q", found, expected)
	}
}

// The streams were recorded from llm-d-inference-sim.
func TestReplayOfRecordedStreams(t *testing.T) {
	for file, expected := range map[string]Replayed{
		"chat-stream-usage.body": {
			Outcome: Outcome{Status: record.StatusOK, Chunks: 4, PromptTokens: count(16), CachedTokens: count(0), OutputTokens: count(4), TokenSource: record.TokensFromUsage, FinishReason: "stop"},
			Text:    "The rest is silence", FirstContent: "The ",
		},
		"chat-stream-no-usage.body": {
			Outcome: Outcome{Status: record.StatusOK, Chunks: 4, OutputTokens: count(4), TokenSource: record.TokensFromChunks, FinishReason: "length"},
			Text:    "I am fine, ", FirstContent: "I ",
		},
		"completions-stream.body": {
			Outcome: Outcome{Status: record.StatusOK, Chunks: 1, OutputTokens: count(1), TokenSource: record.TokensFromChunks, FinishReason: "stop"},
			Text:    "Today ", FirstContent: "Today ",
		},
	} {
		t.Run(file, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata/inference-sim", file))
			if err != nil {
				t.Fatal(err)
			}
			for size := range 300 {
				found := Replay(cutEvery(body, size+1))
				compareFields(t, found, expected, "status", "text", "first_content", "chunks", "prompt_tokens", "cached_tokens", "output_tokens", "token_source", "finish_reason")
			}
		})
	}
}

func compareFields(t *testing.T, found, expected Replayed, fields ...string) {
	t.Helper()
	a, b := found.fields(), expected.fields()
	for _, field := range fields {
		x, y := jsonOf(t, a[field]), jsonOf(t, b[field])
		if !bytes.Equal(x, y) {
			t.Fatalf("%s: found %s, expected %s", field, x, y)
		}
	}
}

func cutEvery(data []byte, size int) [][]byte {
	var reads [][]byte
	for len(data) > size {
		reads = append(reads, data[:size])
		data = data[size:]
	}
	return append(reads, data)
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
