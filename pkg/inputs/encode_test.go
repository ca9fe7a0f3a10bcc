package inputs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"bgbench/pkg/openai"
)

// odd holds what a JSON string has to escape, and what it need not.
const odd = "quote \" backslash \\ newline \n tab \t null \x00 del \x7f <b>&amp;</b> é 漢 \u2028 😀"

func decode[T any](t *testing.T, line []byte) T {
	t.Helper()
	if len(line) == 0 || line[len(line)-1] != '\n' || strings.Count(string(line), "\n") != 1 {
		t.Fatalf("%q is not one line", line)
	}
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.DisallowUnknownFields()
	var v T
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return v
}

func TestLinesDecodeToWhatWasEncoded(t *testing.T) {
	three := 3
	for _, p := range []Prompt{
		{0, nil, nil, "", "plain words", 20, 5},
		{7, &three, nil, "", odd, 1 << 40, 1},
		{-1, &three, nil, "", "", 0, -4},
		{8, &three, &three, odd, "plain words", 20, 5},
	} {
		if got := decode[Prompt](t, AppendPrompt(nil, p)); !reflect.DeepEqual(got, p) {
			t.Errorf("found %+v, want %+v", got, p)
		}
	}
	s := SystemPrompt{2, odd, 9}
	if got := decode[SystemPrompt](t, AppendSystemPrompt(nil, s)); got != s {
		t.Errorf("found %+v, want %+v", got, s)
	}
	for _, inFlight := range []int{0, 3} {
		for _, phase := range []string{"bürst\"", "burst"} {
			d := Due{4, 1<<62 + 1, phase, 2, true, "interactive", 9, inFlight}
			line := AppendDue(nil, d)
			if got := decode[Due](t, line); got != d {
				t.Errorf("found %+v, want %+v", got, d)
			}
			got, ok := decodeDue(line[:len(line)-1], Due{})
			if want := phase == "burst"; ok != want || want && got != d {
				t.Errorf("decoded %t %+v, want %t %+v", ok, got, want, d)
			}
		}
	}
}

func TestJobLineIsABatchInputLine(t *testing.T) {
	for name, test := range map[string]struct {
		line JobLine
		want openai.ChatRequest
	}{
		"with a system prompt": {
			JobLine{
				CustomID: "A-000017", Model: "Qwen/Qwen3-8B", System: "be brief", User: odd, MaxTokens: 12,
				IgnoreEOS: true, MinTokens: true, CacheSalt: "exp/t1",
			},
			openai.ChatRequest{
				Model:     "Qwen/Qwen3-8B",
				Messages:  []openai.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: odd}},
				MaxTokens: 12, MinTokens: 12, IgnoreEOS: true, CacheSalt: "exp/t1",
			},
		},
		"with a history": {
			JobLine{
				CustomID: "A-000017", Model: "m", User: "hello", MaxTokens: 1,
				History: []openai.Message{{Role: "user", Content: "who is there?"}, {Role: "assistant", Content: odd}},
			},
			openai.ChatRequest{Model: "m", MaxTokens: 1, Messages: []openai.Message{
				{Role: "user", Content: "who is there?"}, {Role: "assistant", Content: odd}, {Role: "user", Content: "hello"},
			}},
		},
		"without": {
			JobLine{CustomID: "A-000017", Model: "m", User: "hello", MaxTokens: 1},
			openai.ChatRequest{Model: "m", Messages: []openai.Message{{Role: "user", Content: "hello"}}, MaxTokens: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			line := decode[openai.BatchLine](t, AppendJobLine(nil, test.line))
			if line.CustomID != "A-000017" || line.Method != "POST" || line.URL != "/v1/chat/completions" {
				t.Errorf("found %+v", line)
			}
			if got := decode[openai.ChatRequest](t, append(line.Body, '\n')); !reflect.DeepEqual(got, test.want) {
				t.Errorf("found the body %+v, want %+v", got, test.want)
			}
		})
	}
}

func FuzzPromptDecodersAgree(f *testing.F) {
	two := 2
	f.Add(string(AppendPrompt(nil, Prompt{1, &two, nil, "", "soft rain", 9, 3})))
	f.Add(string(AppendPrompt(nil, Prompt{1, nil, &two, odd, odd, 9, 3})))
	f.Add(`{"prompt":01,"system_prompt":null,"user":"","prompt_tokens":1,"max_tokens":1}`)
	f.Add(`{"prompt":1,"system_prompt":null,"user":"a","prompt_tokens":1,"max_tokens":1}x`)
	f.Add(`{"prompt":-0,"system_prompt":null,"user":"a\"","prompt_tokens":1,"max_tokens":99999999999999999999}`)
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.TrimSuffix(line, "\n")
		if fast, ok := decodePrompt([]byte(line)); ok {
			agree(t, line, fast)
		}
	})
}

func FuzzDueDecodersAgree(f *testing.F) {
	f.Add(string(AppendDue(nil, Due{4, 1<<62 + 1, "burst", 2, true, "interactive", 9, 0})))
	f.Add(string(AppendDue(nil, Due{5, 0, "idle", 0, false, "standard", 0, 48})))
	f.Add(string(AppendDue(nil, Due{5, 0, odd, 0, false, "standard", 0, 48})))
	f.Add(`{"i":-0,"due_ns":-7,"phase":"","cycle":00,"warmup":truefalse,"class":"","prompt":1,"in_flight":}`)
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.TrimSuffix(line, "\n")
		if fast, ok := decodeDue([]byte(line), Due{Phase: "burst", Class: "interactive"}); ok {
			agree(t, line, fast)
		}
	})
}

// agree decodes a line as encoding/json does.
func agree[T any](t *testing.T, line string, fast T) {
	t.Helper()
	var slow T
	if field, fault := decodeLine([]byte(line), &slow); fault != "" {
		t.Fatalf("only the fast decoder takes %q: %s %s", line, field, fault)
	}
	if !reflect.DeepEqual(fast, slow) {
		t.Errorf("%q: the fast decoder found %+v, the other %+v", line, fast, slow)
	}
}

func BenchmarkAppendPrompt(b *testing.B) {
	p := Prompt{User: strings.Repeat("some words of text ", 400), PromptTokens: 1600, MaxTokens: 10}
	line := AppendPrompt(nil, p)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		line = AppendPrompt(line[:0], p)
	}
}
