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
		"with known forms in a row at once": strings.Repeat(line(content("a", 1)), 50) + line("[DONE]"),
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size < len(stream)+5; size += 1 + size/5 {
				checkStream(t, []byte(stream), func() [][]byte { return cutEvery([]byte(stream), size) })
			}
		})
	}
}

func TestCountsBelowZeroAreNoCounts(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":3,"completion_tokens":-2}`
	const want = "usage has -2 completion_tokens, expected 0 or more"
	stream := "data: " + content("a", 1) + "\n\ndata: " + length + "\n\ndata: {\"choices\":[]," + usage + "}\n\ndata: [DONE]\n\n"
	answer := `{"choices":[{"finish_reason":"stop","message":{"content":"a"}}],` + usage + "}"
	for name, out := range map[string]Outcome{
		"stream": byEvents([]byte(stream)).Outcome,
		"answer": decodeAnswer([]byte(answer)),
	} {
		if out.Status != record.StatusProtocolError || out.Error != want {
			t.Errorf("%s: found %s %q, expected %s %q", name, out.Status, out.Error, record.StatusProtocolError, want)
		}
		if out.PromptTokens != nil || out.TokenSource == record.TokensFromUsage {
			t.Errorf("%s: a usage that cannot be was counted: %+v", name, out)
		}
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
