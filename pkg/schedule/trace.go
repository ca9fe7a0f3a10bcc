package schedule

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/spec"
)

// traced is one request of a trace.
type traced struct {
	at            time.Duration // from an instant of the trace's own; once read, from the first one
	input, output int
}

// TraceError says that a trace is of no use.
type TraceError struct{ error }

// Unwrap returns what is wrong with it.
func (e TraceError) Unwrap() error { return e.error }

// readTrace reads a trace, in order of its instants. A rate above 0 stretches it to
// that mean rate.
func readTrace(t spec.Trace, rate float64) ([]traced, error) {
	f, err := os.Open(t.File)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	defer f.Close()
	all, err := parseTrace(f, t.Format)
	if err != nil {
		return nil, fmt.Errorf("trace %s:%w", t.File, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("trace %s: found no request", t.File)
	}
	slices.SortStableFunc(all, func(a, b traced) int { return cmp.Compare(a.at, b.at) })
	first := all[0].at
	span := (all[len(all)-1].at - first).Seconds()
	stretch := 1.0
	if rate > 0 {
		if span == 0 {
			return nil, fmt.Errorf("trace %s: all requests are at one instant, expected a span that can be stretched to a rate", t.File)
		}
		stretch = float64(len(all)-1) / span / rate
	}
	for i := range all {
		all[i].at -= first
		if rate > 0 {
			all[i].at = instant(all[i].at.Seconds() * stretch)
		}
		if !t.Lengths {
			all[i].input, all[i].output = 0, 0
		} else if all[i].input < 1 || all[i].output < 1 {
			return nil, fmt.Errorf("trace %s: found a request of %d and %d tokens, expected 1 or more of each (lengths)", t.File, all[i].input, all[i].output)
		}
	}
	return all, nil
}

// replay returns the part of a trace that falls into a band: each cycle goes on where
// the one before ended.
func replay(trace []traced, band Band, phase spec.Phase) ([]Arrival, error) {
	length := band.End - band.Start
	skip := time.Duration(band.Cycle) * length
	if last := trace[len(trace)-1].at; last < skip {
		return nil, fmt.Errorf("phase %s: trace %s ends after %s, before cycle %d begins at %s", band.Phase, phase.Trace.File, last, band.Cycle, skip)
	}
	var all []Arrival
	for _, t := range trace {
		at := t.at - skip
		if at < 0 {
			continue
		}
		if at >= length {
			break
		}
		all = append(all, Arrival{Band: band, Due: band.Start + at, InputTokens: t.input, OutputTokens: t.output})
	}
	return all, nil
}

// parseTrace reads the requests of a trace. Its errors begin with the number of the line.
func parseTrace(r io.Reader, format string) ([]traced, error) {
	if format == spec.TraceAzure {
		return parseAzure(r)
	}
	var all []traced
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTraceLine)
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		var t traced
		var err error
		switch format {
		case spec.TraceTimestamps:
			t, err = parseTimestamp(text)
		case spec.TraceMooncake:
			t, err = parseObject(text, 1e-3) // its timestamps are milliseconds
		default:
			t, err = parseObject(text, 1)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		all = append(all, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%d: %w", n+1, err)
	}
	return all, nil
}

// maxTraceLine is enough for the block hashes of a Mooncake request of millions of tokens.
const maxTraceLine = 1 << 20

// longest is in seconds what a time.Duration holds, with room for differences.
const longest = 4e9

func parseTimestamp(text string) (traced, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(seconds) < longest) {
		return traced{}, fmt.Errorf("found %q, expected a number of seconds", text)
	}
	return traced{at: instant(seconds)}, nil
}

func parseObject(text string, unit float64) (traced, error) {
	var o struct {
		Timestamp *float64 `json:"timestamp"`
		Input     int      `json:"input_length"`
		Output    int      `json:"output_length"`
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return traced{}, jsontext.Line(err)
	}
	if o.Timestamp == nil {
		return traced{}, errors.New("timestamp: found none, expected a number")
	}
	seconds := *o.Timestamp * unit
	if math.Abs(seconds) > longest {
		return traced{}, fmt.Errorf("timestamp: found %g s, expected %g at most", seconds, longest)
	}
	return traced{instant(seconds), o.Input, o.Output}, nil
}

// parseAzure reads a trace of Azure's LLM inference services
// (AzurePublicDataset, AzureLLMInferenceDataset2023 and 2024).
func parseAzure(r io.Reader) ([]traced, error) {
	rows := csv.NewReader(r)
	head, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("1: found no head (%w), expected TIMESTAMP,ContextTokens,GeneratedTokens", err)
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	column := func(name string) int {
		return slices.IndexFunc(head, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) })
	}
	at, input, output := column("TIMESTAMP"), column("ContextTokens"), column("GeneratedTokens")
	if at < 0 || input < 0 || output < 0 {
		return nil, fmt.Errorf("1: found %s, expected TIMESTAMP,ContextTokens,GeneratedTokens", strings.Join(head, ","))
	}
	var all []traced
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		line, _ := rows.FieldPos(0)
		if err != nil {
			return nil, fmt.Errorf(" %w", err) // csv names the line itself
		}
		var t traced
		if t.at, err = azureInstant(row[at]); err == nil {
			if t.input, err = strconv.Atoi(strings.TrimSpace(row[input])); err == nil {
				t.output, err = strconv.Atoi(strings.TrimSpace(row[output]))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", line, err)
		}
		all = append(all, t)
	}
}

// azureInstant reads 2023-11-16 18:17:03.9799600, or with a zone as of 2024.
func azureInstant(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Duration(t.UnixNano()), nil
		}
	}
	return 0, fmt.Errorf("TIMESTAMP: found %q, expected an instant such as 2023-11-16 18:17:03.9799600", text)
}
