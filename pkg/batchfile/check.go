package batchfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Problem is what is wrong with one line of a file.
type Problem struct {
	Line  int // 1-based
	Field string
	Text  string // what was found and what was expected
}

func (p Problem) String() string {
	if p.Field == "" {
		return fmt.Sprintf("%d: %s", p.Line, p.Text)
	}
	return fmt.Sprintf("%d: %s: %s", p.Line, p.Field, p.Text)
}

// Report sums up what Check read.
type Report struct {
	Lines    int
	Bytes    int64
	Problems int
}

// Check reads an input file and hands over what is wrong with it, at most one problem
// a line beside those of the file's size. It keeps one line and the ids of as many as
// the gateway takes. The error is that of reading, or one that found returned.
func Check(r io.Reader, found func(Problem) error) (Report, error) {
	c := checker{found: found, ids: map[string]int{}}
	lines := bufio.NewScanner(r)
	// A line beyond the limit of the file is not worth the memory.
	lines.Buffer(make([]byte, 0, 1<<16), MaxBytes+1)
	lines.Split(wholeLines)
	for lines.Scan() {
		if err := c.line(lines.Bytes()); err != nil {
			return c.Report, err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		c.Lines++
		return c.Report, c.problem(Problem{c.Lines, "", fmt.Sprintf("found a line of more than %d bytes, expected as many in the whole file at most: the rest was not read", MaxBytes)})
	} else if err != nil {
		return c.Report, fmt.Errorf("reading line %d: %w", c.Lines+1, err)
	}
	return c.Report, nil
}

// wholeLines splits behind each newline: the size of a file counts them.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

type checker struct {
	Report
	found func(Problem) error
	ids   map[string]int // the line of each custom_id
}

func (c *checker) problem(p Problem) error {
	c.Problems++
	return c.found(p)
}

func (c *checker) line(text []byte) error {
	c.Lines++
	before := c.Bytes
	c.Bytes += int64(len(text))
	if c.Lines == MaxLines+1 {
		if err := c.problem(Problem{c.Lines, "", fmt.Sprintf("found line %d, expected %d at most in a file", c.Lines, MaxLines)}); err != nil {
			return err
		}
	}
	if before <= MaxBytes && c.Bytes > MaxBytes {
		if err := c.problem(Problem{c.Lines, "", fmt.Sprintf("found %d bytes up to here, expected %d at most in a file", c.Bytes, MaxBytes)}); err != nil {
			return err
		}
	}
	if field, fault := c.fault(bytes.TrimSuffix(text, []byte("\n"))); fault != "" {
		return c.problem(Problem{c.Lines, field, fault})
	}
	return nil
}

func (c *checker) fault(text []byte) (field, fault string) {
	l, err := Decode(text)
	if err != nil {
		return locate(text, err)
	}
	if f, ok := l.Fault(); ok {
		return f.Field, f.Text
	}
	if first, ok := c.ids[l.CustomID]; ok {
		return "custom_id", fmt.Sprintf("found %q, which line %d has, expected one that is unique in the file", l.CustomID, first)
	}
	if len(c.ids) < MaxLines {
		c.ids[l.CustomID] = c.Lines
	}
	return "", ""
}

// locate says where in a line and why Decode failed.
func locate(text []byte, err error) (field, fault string) {
	if len(bytes.TrimSpace(text)) == 0 {
		return "", "found an empty line, expected a JSON object"
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return "", fmt.Sprintf("found %s (at byte %d), expected one JSON object", syntax, syntax.Offset)
	}
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return "", strings.TrimPrefix(err.Error(), "json: ")
	}
	switch field = kind.Field; field {
	case "":
		return "", fmt.Sprintf("found a JSON %s, expected an object", kind.Value)
	case "body.messages.role", "body.messages.content":
		field = message(text, strings.TrimPrefix(field, "body.messages."))
	}
	want := map[string]string{"string": "a plain string", "bool": "true or false", "struct": "an object", "slice": "a list"}[kind.Type.Kind().String()]
	return field, fmt.Sprintf("found a JSON %s, expected %s", kind.Value, want)
}

// message names the first message whose key does not hold a string.
func message(text []byte, key string) string {
	var l struct {
		Body struct {
			Messages []map[string]json.RawMessage `json:"messages"`
		} `json:"body"`
	}
	// What cannot be read here leaves messages out, and the field without a number.
	_ = json.Unmarshal(text, &l)
	for i, m := range l.Body.Messages {
		var s *string
		if v, ok := m[key]; ok && json.Unmarshal(v, &s) != nil {
			return "body.messages." + strconv.Itoa(i) + "." + key
		}
	}
	return "body.messages." + key
}
