package openai

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/record"
)

// told is what a stream says of an answer.
type told struct {
	Outcome Outcome
	Tokens  []int
	Text    string
}

func (o *told) listen(s *Stream) {
	s.OnChunk = func(_ time.Time, tokens int) { o.Tokens = append(o.Tokens, tokens) }
	s.OnText = func(content, reasoning []byte) { o.Text += string(content) + string(reasoning) }
}

// byEvents is what a stream says that is handed its events, each taken apart for itself.
func byEvents(stream []byte) told {
	var s Stream
	var o told
	o.listen(&s)
	events, unfinished := decodeAtOnce(stream)
	for _, e := range events {
		s.parser = chunkParser{}
		if more := s.event(Event{Data: []byte(e.data), Name: []byte(e.name)}); !more {
			o.Outcome = s.outcome()
			return o
		}
	}
	d := NewDecoder(strings.NewReader("data: "+strings.ReplaceAll(unfinished, "\n", "\ndata: ")), nil)
	_, err := d.Next()
	s.cut(d, err)
	o.Outcome = s.outcome()
	return o
}

// followed is what a stream says that reads them.
func followed(source io.Reader) told {
	var s Stream
	var o told
	o.listen(&s)
	o.Outcome = s.Follow(NewDecoder(source, func() time.Time { return time.Time{} }))
	return o
}

func checkStream(t *testing.T, stream []byte, reads func() [][]byte) {
	t.Helper()
	want := byEvents(stream)
	want.Outcome.DoneAt = time.Time{}
	for _, source := range []io.Reader{&pieces{reads()}, &inPlace{reads: reads()}} {
		if found := followed(source); !reflect.DeepEqual(found, want) {
			t.Errorf("%T: found %+v, expected %+v", source, found, want)
		}
	}
}

func TestAStreamSaysTheSameHoweverItIsCut(t *testing.T) {
	line := func(json string) string { return "data: " + json + "\n\n" }
	for name, stream := range map[string]string{
		"vLLM's":                            string(bytes.Join(vllmStream(5), nil)),
		"with usage that jumps":             line(content("a", 1)) + line(content("b", 4)) + line(content("c", 5)) + line(length) + line("[DONE]"),
		"with another form in the middle":   line(content("a", 1)) + line(content("b", 2)) + line(`{"choices":[{"delta":{"content":"c"}}]}`) + line(content("d", 4)) + line("[DONE]"),
		"with escapes and broken UTF-8":     line(content("a", 1)) + line(content("\n\"é", 2)) + line(strings.Replace(content("X", 3), "X", "\xff", 1)) + line(content("d", 4)) + line("[DONE]"),
		"with a name before a known form":   line(content("a", 1)) + line(content("b", 2)) + "event: error\n" + line(content("c", 3)),
		"with a second line of a form":      line(content("a", 1)) + line(content("b", 2)) + "data: " + content("c", 3) + "\ndata: x\n\n",
		"with a form that ends with CRLF":   line(content("a", 1)) + "data: " + content("b", 2) + "\r\n\r\n" + line("[DONE]"),
		"with a form that came in lines":    "data: " + strings.Replace(content("a", 1), ",", ",\ndata: ", 1) + "\n\n" + "data: " + strings.Replace(content("b", 2), ",", ",\n", 1) + "\n\n" + line("[DONE]"),
		"with comments between":             line(content("a", 1)) + ": ping\n\n" + line(content("b", 2)) + ": ping\n" + line(content("c", 3)) + line("[DONE]"),
		"with a form that is cut":           line(content("a", 1)) + line(content("b", 2)) + "data: " + content("c", 3),
		"with a form and one empty line":    line(content("a", 1)) + line(content("b", 2)) + "data: " + content("c", 3) + "\n",
		"that goes on after its end":        line(content("a", 1)) + line(content("b", 2)) + line(length) + line("[DONE]") + line(content("c", 3)),
		"with an error among equal forms":   line(content("a", 1)) + line(content("b", 2)) + line(`{"error":{"message":"boom"}}`) + line(content("c", 3)),
		"with blanks around a known form":   line(content("a", 1)) + line(" "+content("b", 2)+" ") + line(content("c", 3)) + line("[DONE]"),
		"without a space after its colons":  "data:" + content("a", 1) + "\n\ndata:" + content("b", 2) + "\n\n" + line("[DONE]"),
		"with a usage that falls":           line(content("a", 1)) + line(content("b", 3)) + line(content("c", 2)) + line(content("d", 4)) + line("[DONE]"),
		"with known forms in a row at once": strings.Repeat(line(content("a", 1)), 50) + line("[DONE]"),
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size < len(stream)+5; size += 1 + size/5 {
				checkStream(t, []byte(stream), func() [][]byte { return cutEvery([]byte(stream), size) })
			}
		})
	}
}

func TestCountsThatCannotBeAreNoCounts(t *testing.T) {
	stream := func(data ...string) Outcome {
		return byEvents([]byte("data: " + strings.Join(append(data, "[DONE]"), "\n\ndata: ") + "\n\n")).Outcome
	}
	for name, c := range map[string]struct{ usage, want string }{
		"below zero":                  {`{"prompt_tokens":3,"completion_tokens":-2}`, "usage has -2 completion_tokens, expected 0 to 2147483647"},
		"beyond what a row holds":     {`{"prompt_tokens":3,"completion_tokens":2147483648}`, "usage has 2147483648 completion_tokens, expected 0 to 2147483647"},
		"as large as an int":          {`{"prompt_tokens":3,"completion_tokens":9223372036854775807}`, "usage has 9223372036854775807 completion_tokens, expected 0 to 2147483647"},
		"larger than an int":          {`{"prompt_tokens":3,"completion_tokens":9223372036854775808}`, "cannot unmarshal number 9223372036854775808"},
		"of a prompt":                 {`{"prompt_tokens":9223372036854775807,"completion_tokens":4}`, "usage has 9223372036854775807 prompt_tokens"},
		"of all":                      {`{"prompt_tokens":3,"completion_tokens":4,"total_tokens":-7}`, "usage has -7 total_tokens"},
		"of the part that was cached": {`{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":-1}}`, "usage has -1 cached_tokens"},
		"of the reasoning":            {`{"prompt_tokens":3,"completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":99999999999}}`, "usage has 99999999999 reasoning_tokens"},
	} {
		for place, out := range map[string]Outcome{
			"last of a stream":    stream(content("a", 1), length, `{"choices":[],"usage":`+c.usage+`}`),
			"on the first chunk":  stream(`{"choices":[{"delta":{"content":"a"}}],"usage":`+c.usage+`}`, content("a", 1), length),
			"answer in one piece": decodeAnswer([]byte(`{"choices":[{"finish_reason":"stop","message":{"content":"a"}}],"usage":` + c.usage + `}`)),
		} {
			t.Run(name+", "+place, func(t *testing.T) {
				if out.Status != record.StatusProtocolError || !strings.Contains(out.Error, c.want) {
					t.Errorf("found %s %q, expected %s %q", out.Status, out.Error, record.StatusProtocolError, c.want)
				}
				if c.want[0] == 'u' && (out.PromptTokens != nil || out.TokenSource == record.TokensFromUsage) {
					t.Errorf("a usage that cannot be was counted: %+v", out)
				}
			})
		}
	}
}

func TestAUsageThatFallsIsNone(t *testing.T) {
	const want = "usage falls from 3 to 2 completion_tokens, expected a count that grows"
	for name, last := range map[string]string{
		"in mid-stream": content("b", 2), // of the form of the one before
		"at the end":    `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
	} {
		t.Run(name, func(t *testing.T) {
			stream := "data: " + strings.Join([]string{content("a", 1), content("a", 3), last, length, "[DONE]"}, "\n\ndata: ") + "\n\n"
			found := followed(strings.NewReader(stream))
			if out := found.Outcome; out.Status != record.StatusProtocolError || out.Error != want || out.PromptTokens != nil || !reflect.DeepEqual(found.Tokens, []int{1, 2}) {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// FuzzStream: what a stream says depends neither on how it was cut nor on what came before
// an event.
func FuzzStream(f *testing.F) {
	f.Add(bytes.Join(vllmStream(3), nil), uint64(1))
	f.Add([]byte("data: "+content("a", 1)+"\n\ndata: "+content("b", 2)+"\n\ndata: "+content("c", 3)+"\r\n\r\ndata: [DONE]\n\n"), uint64(7))
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64) {
		checkStream(t, stream, func() [][]byte { return cutBy(stream, cuts) })
	})
}
