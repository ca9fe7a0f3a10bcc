package interop

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// csvHeaderRows of guidellm's CSV: group, field with status and unit, statistic. Which
// columns there are differs from run to run, because a status without requests has
// none, so a column is found by its three texts and never by its place.
const csvHeaderRows = 3

// csvPercentiles are the numbers in a cell of the column Percentiles (guidellm v0.4 to
// v0.7.3, benchmark/outputs/csv.py): no deciles, and no median, which has a column of
// its own.
var csvPercentiles = [...]string{"min", "p0.1", "p1", "p5", "p10", "p25", "p75", "p90", "p95", "p99", "max"}

// csvColumn is where a column stands.
type csvColumn struct{ group, field, stat string }

func (c csvColumn) String() string {
	name := c.group + " / " + c.field
	if c.stat != "" {
		name += " / " + c.stat
	}
	return name
}

// csvRow is one benchmark.
type csvRow struct {
	file    string
	line    int
	columns map[csvColumn]int
	cells   []string
}

func importGuidellmCSV(s *source) error {
	reader := csv.NewReader(bytes.NewReader(s.data))
	columns, err := s.csvHeader(reader)
	if err != nil {
		return err
	}
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.csvError(err)
		}
		line, _ := reader.FieldPos(0)
		run, err := s.csvRun(csvRow{s.name, line, columns, cells}, len(s.runs))
		if err != nil {
			return err
		}
		s.runs = append(s.runs, run)
	}
}

func (s *source) csvHeader(reader *csv.Reader) (map[csvColumn]int, error) {
	var header [csvHeaderRows][]string
	for i := range header {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: found %d rows, expected three rows of headers and one for each benchmark of guidellm", s.name, i)
		}
		if err != nil {
			return nil, s.csvError(err)
		}
		header[i] = cells
	}
	columns := make(map[csvColumn]int)
	for i := range header[0] {
		c := csvColumn{strings.TrimSpace(header[0][i]), strings.TrimSpace(header[1][i]), strings.TrimSpace(header[2][i])}
		if first, ok := columns[c]; ok {
			return nil, fmt.Errorf("%s: column %d: found %v, which column %d is already", s.name, i+1, c, first+1)
		}
		columns[c] = i
	}
	for _, c := range []csvColumn{
		{"Request Counts", "Successful", ""}, {"Request Counts", "Total", ""},
	} {
		if _, ok := columns[c]; !ok {
			return nil, fmt.Errorf("%s: found no column %v in the three header rows, expected the CSV of guidellm 0.4 or newer", s.name, c)
		}
	}
	return columns, nil
}

// csvError names file and line; encoding/csv knows the line alone.
func (s *source) csvError(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", s.name, parse.Line, parse.Err)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

func (s *source) csvRun(row csvRow, index int) (Run, error) {
	name := row.text("Benchmark", "Strategy", "")
	if name == "" {
		name = fmt.Sprintf("benchmark %d", index)
	} else {
		name = fmt.Sprintf("%s %d", name, index)
	}
	version := ""
	if metadata := row.text("Runtime Info", "Metadata", ""); metadata != "" {
		version = csvVersion(metadata)
	}
	run := s.run(guidellm, version, name)
	label(&run, "strategy", row.text("Benchmark", "Strategy", ""))
	label(&run, "id", row.text("Benchmark", "ID", ""))
	// Local time of a machine that the file does not name, so no instant.
	label(&run, "start_time", row.text("Timings", "Start Time", ""))
	var err error
	if run.DurationS, err = row.number("Timings", "Duration", "Sec"); err != nil {
		return Run{}, err
	}
	for _, c := range []struct {
		to    **int
		field string
	}{
		{&run.Requests.Total, "Total"}, {&run.Requests.OK, "Successful"},
		{&run.Requests.Failed, "Errored"}, {&run.Requests.Incomplete, "Incomplete"},
	} {
		if *c.to, err = row.count("Request Counts", c.field, ""); err != nil {
			return Run{}, err
		}
	}
	s.survivors(run)
	for _, known := range guidellmMetrics {
		m := metric(known.definition, known.group+", "+known.field, known.unit)
		m.Quantiles = QuantilesNearestRank
		if known.counts == countRequests {
			m.N, m.Counts = run.Requests.OK, countRequests
		} else {
			m.Counts = known.counts // of tokens; how many there are is not in the file
		}
		if err := row.describe(&m, known.group, "Successful "+known.field); err != nil {
			return Run{}, err
		}
		s.zeroTime(m)
		run.add(m.divided(known.divisor, known.unit))
	}
	s.warnOfTails(run)
	return run, nil
}

func (r csvRow) text(group, field, stat string) string {
	if i, ok := r.columns[csvColumn{group, field, stat}]; ok {
		return strings.TrimSpace(r.cells[i])
	}
	return ""
}

func (r csvRow) errorf(group, field, stat, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %v: %s", r.file, r.line, csvColumn{group, field, stat}, fmt.Sprintf(format, args...))
}

// number of a cell; nil for an empty one and for what is not finite.
func (r csvRow) number(group, field, stat string) (*float64, error) {
	text := r.text(group, field, stat)
	if text == "" || text == "None" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, r.errorf(group, field, stat, "found %.40q, expected a number", text)
	}
	return finite(v), nil
}

func (r csvRow) count(group, field, stat string) (*int, error) {
	v, err := r.number(group, field, stat)
	if v == nil || err != nil {
		return nil, err
	}
	if *v < 0 || *v != math.Trunc(*v) || *v > 1e15 {
		return nil, r.errorf(group, field, stat, "found %g, expected a count", *v)
	}
	n := int(*v)
	return &n, nil
}

func (r csvRow) describe(m *Metric, group, field string) error {
	var median *float64
	for _, c := range []struct {
		to   **float64
		stat string
	}{{&m.Mean, "Mean"}, {&median, "Median"}, {&m.SD, "Std Dev"}} {
		var err error
		if *c.to, err = r.number(group, field, c.stat); err != nil {
			return err
		}
	}
	m.setPercentile("p50", median)
	return r.percentiles(m, group, field)
}

func (r csvRow) percentiles(m *Metric, group, field string) error {
	const stat = "Percentiles"
	text := r.text(group, field, stat)
	if text == "" {
		return nil
	}
	inner, open := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !open || !closed {
		return r.errorf(group, field, stat, "found %.60q, expected numbers in brackets", text)
	}
	parts := strings.Split(inner, ",")
	if len(parts) != len(csvPercentiles) {
		return r.errorf(group, field, stat, "found %d numbers, expected %d: %s",
			len(parts), len(csvPercentiles), strings.Join(csvPercentiles[:], ", "))
	}
	last := math.Inf(-1)
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if part == "None" {
			continue
		}
		v, err := strconv.ParseFloat(part, 64)
		switch {
		case err != nil:
			return r.errorf(group, field, stat, "%s: found %.40q, expected a number", csvPercentiles[i], part)
		case math.IsNaN(v):
			continue
		case v < last:
			return r.errorf(group, field, stat, "%s: found %g after %g, expected ascending numbers", csvPercentiles[i], v, last)
		}
		last = v
		switch name := csvPercentiles[i]; name {
		case "min":
			m.Min = finite(v)
		case "max":
			m.Max = finite(v)
		default:
			m.setPercentile(name, finite(v))
		}
	}
	return nil
}

// csvVersion is guidellm_version of the cell Metadata, which is JSON.
func csvVersion(metadata string) string {
	var m struct {
		Version string `json:"guidellm_version"`
	}
	if err := json.Unmarshal([]byte(metadata), &m); err != nil {
		return "" // the cell only informs
	}
	return m.Version
}
