package scrape

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// openMetrics reads the text format of OpenMetrics 1.0 line by line. expfmt only writes
// it: its text parser ends at the first exemplar. Prometheus' own parser cuts timestamps
// to milliseconds and does not say which line is wrong.
type openMetrics struct {
	in     *bufio.Reader
	line   int
	long   []byte // a line that does not fit the reader's buffer
	family string // of the last TYPE line
	kind   string
	ended  bool
}

// exposedSample is a line of OpenMetrics with its value. Its bytes are good until the
// next one is read.
type exposedSample struct {
	family string // of the TYPE line, or empty for a sample that has none
	kind   string // counter, gauge, …; unknown without a TYPE line
	series []byte // name and labels as they stand
	value  float64
	at     time.Time // zero without a timestamp
}

func newOpenMetrics(r io.Reader) *openMetrics {
	return &openMetrics{in: bufio.NewReaderSize(r, 1<<16), kind: "unknown"}
}

// familyKinds are the types of OpenMetrics with the endings that their samples may have.
var familyKinds = map[string][]string{
	"counter":        {"_total", "_created"},
	"gauge":          {""},
	"histogram":      {"_bucket", "_count", "_sum", "_created"},
	"gaugehistogram": {"_bucket", "_gcount", "_gsum"},
	"summary":        {"", "_count", "_sum", "_created"},
	"info":           {"_info"},
	"stateset":       {""},
	"unknown":        {""},
}

// next returns the next sample; io.EOF behind the line # EOF. Other errors begin with
// the number of the line.
func (o *openMetrics) next() (exposedSample, error) {
	for {
		line, err := o.read()
		if err != nil {
			return exposedSample{}, err
		}
		if len(line) == 0 {
			return exposedSample{}, o.errorf("found an empty line, expected a sample or # EOF")
		}
		if line[0] == '#' {
			if err := o.comment(string(line)); err != nil {
				return exposedSample{}, err
			}
			continue
		}
		s, err := o.sample(line)
		if err != nil {
			return s, fmt.Errorf("line %d: %w", o.line, err)
		}
		return s, nil
	}
}

func (o *openMetrics) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", o.line, fmt.Errorf(format, args...))
}

// read returns the next line without its line feed.
func (o *openMetrics) read() ([]byte, error) {
	o.line++
	o.long = o.long[:0]
	for {
		part, err := o.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(o.long) < maxPage:
			o.long = append(o.long, part...)
			continue
		case errors.Is(err, io.EOF) && len(part) == 0 && len(o.long) == 0 && o.ended:
			return nil, io.EOF
		case errors.Is(err, io.EOF) && len(part) == 0 && len(o.long) == 0:
			return nil, o.errorf("found the end, expected # EOF (is it whole?)")
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, o.errorf("found more than %d bytes", maxPage)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case o.ended:
			return nil, o.errorf("found text behind # EOF")
		}
		if len(o.long) > 0 {
			part = append(o.long, part...)
			o.long = part[:0]
		}
		return bytes.TrimSuffix(part, []byte{'\n'}), nil
	}
}

func (o *openMetrics) comment(line string) error {
	if line == "# EOF" {
		o.ended = true
		return nil
	}
	words := strings.SplitN(line, " ", 4)
	if len(words) < 3 || words[0] != "#" {
		return o.errorf("found %s, expected # TYPE, # HELP, # UNIT or # EOF", shown(line))
	}
	switch words[1] {
	case "TYPE":
		name, kind := words[2], strings.Join(words[3:], " ")
		if strings.HasPrefix(name, `"`) {
			text, rest, err := quoted([]byte(strings.TrimPrefix(line, "# TYPE ")))
			if err != nil {
				return o.errorf("%w", err)
			}
			name, kind = text, strings.TrimPrefix(string(rest), " ")
		}
		if familyKinds[kind] == nil {
			return o.errorf("found %s, expected # TYPE, a name and a type of OpenMetrics", shown(line))
		}
		o.family, o.kind = name, kind
	case "HELP", "UNIT":
	default:
		return o.errorf("found %s, expected # TYPE, # HELP, # UNIT or # EOF", shown(line))
	}
	return nil
}

// shown quotes the beginning of a line.
func shown(line string) string {
	if len(line) > 60 {
		line = line[:60] + "…"
	}
	return strconv.Quote(line)
}

func (o *openMetrics) sample(line []byte) (exposedSample, error) {
	end, err := seriesEnd(line)
	if err != nil {
		return exposedSample{}, err
	}
	s := exposedSample{kind: "unknown", series: line[:end]}
	name := s.series
	if brace := bytes.IndexByte(name, '{'); brace >= 0 {
		name = name[:brace]
	}
	if rest, ok := bytes.CutPrefix(name, []byte(o.family)); ok && o.family != "" && len(name) > 0 {
		for _, ending := range familyKinds[o.kind] {
			if string(rest) == ending {
				s.family, s.kind = o.family, o.kind
			}
		}
	}
	numbers, exemplar, hasExemplar := bytes.Cut(line[end:], []byte(" # "))
	if hasExemplar && !bytes.HasPrefix(exemplar, []byte{'{'}) {
		return s, fmt.Errorf("found %s behind #, expected the labels of an exemplar", shown(string(exemplar)))
	}
	words := bytes.Split(bytes.TrimPrefix(numbers, []byte{' '}), []byte{' '})
	if s.value, err = strconv.ParseFloat(string(words[0]), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return s, fmt.Errorf("found value %s, expected a number", shown(string(words[0])))
	}
	switch len(words) {
	case 1:
	case 2:
		if s.at, err = timestamp(string(words[1])); err != nil {
			return s, err
		}
	default:
		return s, fmt.Errorf("found %s, expected a value and a timestamp", shown(string(numbers)))
	}
	return s, nil
}

// timestamp reads seconds since 1970, to the microsecond.
func timestamp(text string) (time.Time, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	micros := math.Round(seconds * 1e6)
	if err != nil || math.IsNaN(micros) || math.Abs(micros) >= 1<<62 {
		return time.Time{}, fmt.Errorf("found timestamp %s, expected seconds since 1970", shown(text))
	}
	return time.UnixMicro(int64(micros)).UTC(), nil
}

// seriesEnd finds where name and labels end.
func seriesEnd(line []byte) (int, error) {
	inLabels, inText := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inText && c == '\\':
			i++
		case c == '"' && inLabels:
			inText = !inText
		case inText:
		case c == '{':
			inLabels = true
		case c == '}' && inLabels:
			if i+1 < len(line) && line[i+1] == ' ' {
				return i + 1, nil
			}
			return 0, fmt.Errorf("found %s, expected a value behind the labels", shown(string(line)))
		case c == ' ' && !inLabels:
			if i == 0 {
				return 0, fmt.Errorf("found %s, expected a name", shown(string(line)))
			}
			return i, nil
		}
	}
	return 0, fmt.Errorf("found %s, expected a name, labels and a value", shown(string(line)))
}

// parseSeries takes name and labels apart. The name may stand quoted among the labels,
// as names do that are more than letters, digits, _ and :.
func parseSeries(series []byte) (name string, labels []label, err error) {
	before, rest, found := bytes.Cut(series, []byte{'{'})
	name = string(before)
	if name != "" && !isName(name) {
		return "", nil, fmt.Errorf("found name %s, expected letters, digits, _ and :, or quotes in braces", shown(name))
	}
	if !found {
		return name, nil, nil
	}
	for {
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) > 0 && rest[0] == '}' {
			break
		}
		var key string
		if len(rest) > 0 && rest[0] == '"' {
			if key, rest, err = quoted(rest); err != nil {
				return "", nil, err
			}
		} else {
			end := bytes.IndexAny(rest, "=,} ")
			if end <= 0 || !isName(string(rest[:end])) {
				return "", nil, fmt.Errorf("found %s, expected the name of a label", shown(string(rest)))
			}
			key, rest = string(rest[:end]), rest[end:]
		}
		rest = bytes.TrimLeft(rest, " ")
		value, isLabel := bytes.CutPrefix(rest, []byte{'='})
		switch {
		case isLabel:
			var text string
			if text, rest, err = quoted(bytes.TrimLeft(value, " ")); err != nil {
				return "", nil, err
			}
			labels = append(labels, label{key, text})
		case name == "":
			name = key
		default:
			return "", nil, fmt.Errorf("found %s behind label %s, expected =", shown(string(rest)), key)
		}
		rest = bytes.TrimLeft(rest, " ")
		if after, ok := bytes.CutPrefix(rest, []byte{','}); ok {
			rest = after
		} else if len(rest) == 0 || rest[0] != '}' {
			return "", nil, fmt.Errorf("found %s, expected , or }", shown(string(rest)))
		}
	}
	if name == "" {
		return "", nil, errors.New("found labels without a name")
	}
	for i := range labels {
		for j := range i {
			if labels[i].name == labels[j].name {
				return "", nil, fmt.Errorf("found label %s twice", labels[i].name)
			}
		}
	}
	return name, labels, nil
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c == ':' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// quoted reads a text in quotes with the escapes \\, \" and \n.
func quoted(from []byte) (text string, rest []byte, err error) {
	if len(from) == 0 || from[0] != '"' {
		return "", nil, fmt.Errorf("found %s, expected a text in quotes", shown(string(from)))
	}
	var out []byte
	for i := 1; i < len(from); i++ {
		switch c := from[i]; {
		case c == '"' && !utf8.Valid(out):
			return "", nil, fmt.Errorf("found %q, expected UTF-8", out)
		case c == '"':
			return string(out), from[i+1:], nil
		case c == '\\' && i+1 < len(from):
			i++
			switch from[i] {
			case 'n':
				out = append(out, '\n')
			case '\\', '"':
				out = append(out, from[i])
			default:
				out = append(out, '\\', from[i])
			}
		default:
			out = append(out, c)
		}
	}
	return "", nil, fmt.Errorf("found %s, expected its closing quote", shown(string(from)))
}
