package openai

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// plainEvent is an Event that stays.
type plainEvent struct{ name, data string }

func readAll(d *Decoder) (events []plainEvent, err error) {
	for {
		e, err := d.Next()
		if err != nil {
			return events, err
		}
		events = append(events, plainEvent{string(e.Name), string(e.Data)})
	}
}

func TestDecoder(t *testing.T) {
	data := func(texts ...string) (events []plainEvent) {
		for _, text := range texts {
			events = append(events, plainEvent{"", text})
		}
		return events
	}
	for name, c := range map[string]struct {
		stream string
		events []plainEvent
	}{
		"LF ends a line":                               {"data: a\n\ndata: b\n\n", data("a", "b")},
		"CR ends a line":                               {"data: a\r\rdata: b\r\r", data("a", "b")},
		"CRLF ends a line":                             {"data: a\r\n\r\ndata: b\r\n\r\n", data("a", "b")},
		"line ends may be mixed":                       {"data: a\r\n\rdata: b\n\r\ndata: c\r\n\n", data("a", "b", "c")},
		"the space after the colon is optional":        {"data:a\n\n", data("a")},
		"only one space belongs to the colon":          {"data:  a \n\n", data(" a ")},
		"a tab belongs to the data":                    {"data:\ta\n\n", data("\ta")},
		"data lines are joined by a newline":           {"data: a\ndata: b\ndata:\n\n", data("a\nb\n")},
		"a line without a colon is a field's name":     {"data\n\ndata\ndata\n\n", data("", "\n")},
		"empty data is an event":                       {"data:\n\n", data("")},
		"an event without data is none":                {"event: x\n\nid: 1\n\n\n\ndata: a\n\n", data("a")},
		"a name ends with its event":                   {"event: error\ndata: a\n\ndata: b\n\n", []plainEvent{{"error", "a"}, {"", "b"}}},
		"a name without data is forgotten":             {"event: error\n\ndata: b\n\n", data("b")},
		"the last name counts":                         {"event: a\nevent: b\ndata: c\n\n", []plainEvent{{"b", "c"}}},
		"comments are skipped":                         {": ping\n\n:\ndata: a\n: in the middle\ndata: b\n\n", data("a\nb")},
		"other fields are skipped":                     {"id: 1\nretry: 5\ndata: a\nxdata: b\nDATA: c\n data: d\n\n", data("a")},
		"a byte order mark is skipped":                 {"\ufeffdata: a\n\n", data("a")},
		"a second byte order mark is part of the name": {"\ufeff\ufeffdata: a\n\ndata: b\n\n", data("b")},
		"a byte order mark in the middle is data":      {"data: \ufeffa\n\n", data("\ufeffa")},
		"the end of the stream ends no event":          {"data: a\n\ndata: b\n", data("a")},
		"the end of the stream ends no line":           {"data: a\n\ndata: b", data("a")},
		"U+2028, U+2029, U+0085, VT and FF are data":   {"data: a\u2028b\u2029c\u0085d\ve\ff\n\n", data("a\u2028b\u2029c\u0085d\ve\ff")},
		"a zero byte is data":                          {"data: a\x00b\n\n", data("a\x00b")},
		"nothing":                                      {"", nil},
		// The three examples of the standard (HTML Living Standard 9.2.6).
		"the standard's first example":  {"data: This is the first message.\n\ndata: This is the second message, it\ndata: has two lines.\n\n", data("This is the first message.", "This is the second message, it\nhas two lines.")},
		"the standard's second example": {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n", data("first event", "second event")},
		"the standard's third example":  {"data\n\ndata\ndata\n\ndata:", data("", "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			for way, r := range map[string]io.Reader{
				"in one read":                 strings.NewReader(c.stream),
				"one byte a read":             iotest.OneByteReader(strings.NewReader(c.stream)),
				"with the end in a read":      iotest.DataErrReader(strings.NewReader(c.stream)),
				"with reads that bring none":  &hesitant{r: strings.NewReader(c.stream)},
				"one byte a read, end inside": iotest.OneByteReader(iotest.DataErrReader(strings.NewReader(c.stream))),
			} {
				events, err := readAll(NewDecoder(r, nil))
				if !errors.Is(err, io.EOF) || !slices.Equal(events, c.events) {
					t.Errorf("%s: found %q and error %v, expected %q and io.EOF", way, events, err, c.events)
				}
			}
		})
	}
}

// inPlace shows its reads one after the other in one place, and spoils it before the next.
type inPlace struct {
	io.Reader
	reads [][]byte
	place []byte
}

func (p *inPlace) NextPiece() ([]byte, time.Time, error) {
	for i := range p.place {
		p.place[i] = '!'
	}
	if len(p.reads) == 0 {
		return nil, time.Time{}, io.EOF
	}
	p.place = append(p.place[:0], p.reads[0]...)
	p.reads = p.reads[1:]
	return p.place, time.Time{}, nil
}

// hesitant returns nothing from every second read, as a TLS connection may.
type hesitant struct {
	r     io.Reader
	reads int
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.reads++; h.reads%2 == 1 {
		return 0, nil
	}
	return h.r.Read(p[:1])
}

func TestDecoderReadsALongStreamHoweverItIsCut(t *testing.T) {
	var stream bytes.Buffer
	for i, end := range []string{"\n", "\r\n", "\r", "\n"} {
		for size := 1; size < 12_000; size = size*2 + 1 {
			line := strings.Repeat(string(rune('a'+i)), size)
			stream.WriteString("event: " + line[:size/2] + end + "data: " + line + end + ": " + line + end)
			stream.WriteString("data: x" + end + "data:" + line + end + end + "data: short" + end + end)
		}
	}
	expected, _ := decodeAtOnce(stream.Bytes())
	for _, size := range []int{1, 7, 100, 1000, 4095, 4096, 4097, 5000, 8191, 8192, 8193, 20_000, stream.Len()} {
		for _, source := range []io.Reader{&pieces{cutEvery(stream.Bytes(), size)}, &inPlace{reads: cutEvery(stream.Bytes(), size)}} {
			found, err := readAll(NewDecoder(source, nil))
			if !errors.Is(err, io.EOF) || !slices.Equal(found, expected) {
				t.Errorf("%T of %d bytes: found %d events and error %v, expected the %d of one read", source, size, len(found), err, len(expected))
			}
		}
	}
}

func TestDecoderStampsAnEventWithTheReadThatCompletedIt(t *testing.T) {
	reads := []string{"data: a\n", "\nda", "ta: b\n\ndata: c\r\n\r", "\ndata: d\n", "\n"}
	start := time.Unix(1000, 0)
	now := start
	socket := &pieces{}
	for _, r := range reads {
		socket.rest = append(socket.rest, []byte(r))
	}
	d := NewDecoder(socket, func() time.Time { now = now.Add(time.Second); return now })
	for _, expected := range []struct {
		data string
		read int
	}{{"a", 2}, {"b", 3}, {"c", 3}, {"d", 5}} {
		e, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		if found := int(e.At.Sub(start) / time.Second); string(e.Data) != expected.data || found != expected.read {
			t.Errorf("found %q stamped by read %d, expected %q by read %d", e.Data, found, expected.data, expected.read)
		}
	}
}

func TestDecoderReportsTheErrorOfTheConnectionAfterTheEventsBeforeIt(t *testing.T) {
	reset := errors.New("connection reset")
	for name, r := range map[string]io.Reader{
		"after the bytes":    io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(reset)),
		"together with them": &failing{text: "data: a\n\ndata: b", err: reset},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDecoder(r, nil)
			events, err := readAll(d)
			if !errors.Is(err, reset) || !slices.Equal(events, []plainEvent{{"", "a"}}) {
				t.Errorf("found %q and error %v", events, err)
			}
			if _, again := d.Next(); !errors.Is(again, reset) {
				t.Errorf("found error %v from the next call, expected the same one", again)
			}
		})
	}
}

type failing struct {
	text string
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, f.err
}

func TestDecoderHandsOutWhatTheEndCutOff(t *testing.T) {
	for stream, expected := range map[string]string{
		"data: [DONE]":             "[DONE]",
		"data: [DONE]\n":           "[DONE]",
		"data: [DONE]\r":           "[DONE]",
		"data: a\ndata: b":         "a\nb",
		"data: a\n\ndata: b":       "b",
		"data: a\n\n":              "",
		"data: a\n\n: ping":        "",
		"event: x\ndata: a\nid: 1": "a",
	} {
		d := NewDecoder(strings.NewReader(stream), nil)
		if _, err := readAll(d); !errors.Is(err, io.EOF) {
			t.Errorf("%q: found error %v, expected io.EOF", stream, err)
		}
		if found := string(d.Unfinished()); found != expected {
			t.Errorf("%q: found %q, expected %q", stream, found, expected)
		}
	}
}

func TestDecoderRefusesEventsAboveItsLimit(t *testing.T) {
	const limit = 100_000
	long := strings.Repeat("x", limit)
	for name, c := range map[string]struct {
		stream string
		fits   bool
	}{
		"a line at the limit":                 {"data: " + long[6:] + "\n\n", true},
		"a line above it":                     {"data: " + long[5:] + "\n\n", false},
		"a line above it that never ends":     {"data: " + long[5:], false},
		"lines that exceed it together":       {"data: " + long[:limit/2] + "\ndata: " + long[:limit/2] + "\n\n", false},
		"a comment above it":                  {": " + long + "\n\n", false},
		"small events that exceed it in sum":  {strings.Repeat("data: "+long[:limit/2]+"\n\n", 3), true},
		"comments inside an event do not add": {"data: a\n" + strings.Repeat(": "+long[:limit/2]+"\n", 5) + "\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 4096, len(c.stream)} {
				d := NewDecoder(&pieces{cutEvery([]byte("data: first\n\n"+c.stream), size)}, nil)
				d.SetEventLimit(limit)
				events, err := readAll(d)
				if len(events) == 0 || events[0].data != "first" {
					t.Fatalf("found %d events, expected the first", len(events))
				}
				if c.fits != errors.Is(err, io.EOF) || c.fits == errors.Is(err, ErrEventTooLarge) {
					t.Errorf("reads of %d: found error %v", size, err)
				}
			}
		})
	}
}

func TestDecoderGivesUpOnAReaderThatBringsNothing(t *testing.T) {
	if _, err := NewDecoder(idle{}, nil).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("found error %v, expected io.ErrNoProgress", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestDecoderAllocatesNothingPerEvent(t *testing.T) {
	stream := bytes.Join(vllmStream(200), nil)
	reads := cutEvery(stream, 700)
	d := NewDecoder(nil, nil)
	var s Stream
	source := &pieces{}
	again := make([][]byte, len(reads))
	var out Outcome
	allocs := testing.AllocsPerRun(20, func() {
		copy(again, reads)
		source.rest = again
		d.Reset(source, nil)
		s.Reset()
		out = s.Follow(d)
	})
	if out.Chunks != 200 {
		t.Fatalf("found %d chunks, expected 200", out.Chunks)
	}
	// What is left are the answer's own fields: two counts, the finish reason, the hash.
	if allocs > 8 {
		t.Errorf("found %.0f allocations for a stream of 200 chunks, expected at most 8", allocs)
	}
}

// FuzzDecoder holds the decoder against a decoder that sees the whole stream at
// once, for any cut of the bytes into reads.
func FuzzDecoder(f *testing.F) {
	for _, stream := range []string{
		"data: a\n\ndata: b\r\n\r\n", "\ufeffdata\r\rdata: x\ndata:y\n\n", ": c\nevent: e\ndata: {\"a\": 1}\n\ndata: [DONE]",
		"data: é😀\n\n", "data: a\r\n\rdata: b\n\r\n", "\ufeff\ufeff\n\n", "event\ndata\n\n\r\r\n",
	} {
		f.Add([]byte(stream), uint64(0x9e3779b97f4a7c15))
		f.Add([]byte(stream), uint64(0))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64) {
		expected, unfinished := decodeAtOnce(stream)
		for _, source := range []io.Reader{&pieces{cutBy(stream, cuts)}, &inPlace{reads: cutBy(stream, cuts)}} {
			d := NewDecoder(source, nil)
			found, err := readAll(d)
			if !errors.Is(err, io.EOF) || !slices.Equal(found, expected) {
				t.Errorf("%T: found %q and error %v, expected %q", source, found, err, expected)
			}
			if rest := string(d.Unfinished()); rest != unfinished {
				t.Errorf("%T: found %q unfinished, expected %q", source, rest, unfinished)
			}
		}
	})
}

// cutBy cuts data at places drawn from seed.
func cutBy(data []byte, seed uint64) (reads [][]byte) {
	for len(data) > 0 {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		n := min(len(data), 1+int(seed%7))
		reads = append(reads, data[:n])
		data = data[n:]
	}
	return reads
}

// decodeAtOnce follows the words of the standard, line by line.
func decodeAtOnce(stream []byte) (events []plainEvent, unfinished string) {
	text := strings.TrimPrefix(string(stream), "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	var name string
	var data []string
	for i, line := range lines {
		if last := i == len(lines)-1; line == "" && !last {
			if data != nil {
				events = append(events, plainEvent{name, strings.Join(data, "\n")})
			}
			name, data = "", nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
	}
	return events, strings.Join(data, "\n")
}
