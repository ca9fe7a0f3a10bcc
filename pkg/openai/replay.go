package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Replayed is what the client makes of a stream, text included.
type Replayed struct {
	Outcome
	Text         string
	Reasoning    string
	FirstContent string  // of the first chunk that has content
	ChunkTokens  []int32 // one entry a chunk with output
}

// Replay follows a stream that arrives in the given reads.
func Replay(reads [][]byte) Replayed {
	var r Replayed
	var text, reasoning strings.Builder
	s := Stream{
		OnChunk: func(_ time.Time, tokens int) { r.ChunkTokens = append(r.ChunkTokens, int32(tokens)) },
		OnText: func(content, thought []byte) {
			if text.Len() == 0 {
				r.FirstContent = string(content)
			}
			text.Write(content)
			reasoning.Write(thought)
		},
	}
	r.Outcome = s.Follow(NewDecoder(&pieces{reads}, nil))
	r.Text, r.Reasoning = text.String(), reasoning.String()
	return r
}

// pieces is a reader that returns what it holds piece by piece, as a socket may.
type pieces struct{ rest [][]byte }

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.rest) > 0 && len(p.rest[0]) == 0 {
		p.rest = p.rest[1:]
	}
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[0])
	p.rest[0] = p.rest[0][n:]
	return n, nil
}

// CaseVerdict says how the client did on one case of a conformance file.
type CaseVerdict struct {
	Name        string
	Why         string // what the case is about
	OK          bool
	Differences []string // "chunks: found 3, expected 2"
}

// Conform replays the streams of a conformance file and compares what the client
// makes of them with what the file expects. The file is JSON: cases with a name, a
// reason, the reads of the socket in base64, and the fields of the expected record;
// fields that are absent are free.
func Conform(r io.Reader) ([]CaseVerdict, error) {
	var file struct {
		About string       `json:"about"`
		Cases []streamCase `json:"cases"`
	}
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("reading conformance cases: %w", err)
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("reading conformance cases: cases: found none, expected at least one")
	}
	verdicts := make([]CaseVerdict, 0, len(file.Cases))
	names := map[string]bool{}
	for i, c := range file.Cases {
		if c.Name == "" || names[c.Name] {
			return nil, fmt.Errorf("reading conformance cases: cases[%d].name: found %q, expected a name of its own", i, c.Name)
		}
		names[c.Name] = true
		verdict, err := c.play()
		if err != nil {
			return nil, fmt.Errorf("reading conformance cases: cases[%d] (%s): %w", i, c.Name, err)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

type streamCase struct {
	Name   string                     `json:"name"`
	Why    string                     `json:"why"`
	Reads  []string                   `json:"reads"`
	Expect map[string]json.RawMessage `json:"expect"`
}

func (c streamCase) play() (CaseVerdict, error) {
	reads := make([][]byte, len(c.Reads))
	for i, text := range c.Reads {
		read, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return CaseVerdict{}, fmt.Errorf("reads[%d]: found %.20q, expected base64: %w", i, text, err)
		}
		reads[i] = read
	}
	if len(c.Expect) == 0 {
		return CaseVerdict{}, errors.New("expect: found nothing, expected at least one field")
	}
	verdict := CaseVerdict{Name: c.Name, Why: c.Why}
	found := Replay(reads)
	for _, field := range slices.Sorted(maps.Keys(c.Expect)) {
		difference, err := found.compare(field, c.Expect[field])
		if err != nil {
			return CaseVerdict{}, fmt.Errorf("expect.%s: %w", field, err)
		}
		if difference != "" {
			verdict.Differences = append(verdict.Differences, difference)
		}
	}
	verdict.OK = len(verdict.Differences) == 0
	return verdict, nil
}

// compare says how a field differs from what a case expects, or nothing.
func (r Replayed) compare(field string, expected json.RawMessage) (difference string, err error) {
	if field == "error_contains" {
		var part string
		if err := json.Unmarshal(expected, &part); err != nil {
			return "", fmt.Errorf("found %s, expected a string", expected)
		}
		if !strings.Contains(r.Error, part) {
			return fmt.Sprintf("error: found %q, expected a text with %q", r.Error, part), nil
		}
		return "", nil
	}
	value, known := r.fields()[field]
	if !known {
		return "", errors.New("unknown field")
	}
	found, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	same, err := sameJSON(found, expected)
	if err != nil {
		return "", err
	}
	if !same {
		return fmt.Sprintf("%s: found %s, expected %s", field, found, expected), nil
	}
	return "", nil
}

// fields names what a case may expect.
func (r Replayed) fields() map[string]any {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return map[string]any{
		"status":           r.Status,
		"text":             r.Text,
		"reasoning":        r.Reasoning,
		"chunks":           r.Chunks,
		"first_content":    r.FirstContent,
		"chunk_tokens":     r.ChunkTokens,
		"prompt_tokens":    r.PromptTokens,
		"cached_tokens":    r.CachedTokens,
		"output_tokens":    r.OutputTokens,
		"reasoning_tokens": r.ReasoningTokens,
		"token_source":     orNull(r.TokenSource),
		"finish_reason":    orNull(r.FinishReason),
		"output_sha256":    orNull(r.TextSHA256),
	}
}

// sameJSON compares two JSON values by what they mean, not how they are written.
func sameJSON(a, b []byte) (bool, error) {
	canonical := func(data []byte) ([]byte, error) {
		var v any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}
	left, err := canonical(a)
	if err != nil {
		return false, err
	}
	right, err := canonical(b)
	return bytes.Equal(left, right), err
}
