package scrape

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"strings"
	"time"

	"bgbench/pkg/record"
)

// textPage makes rows of OpenMetrics text. As Page does, it keeps what was exposed and
// remembers the series it has seen.
type textPage struct {
	base    record.Sample
	exposed map[string]bool // names of families
	seen    map[string]*record.Sample
	key     []byte // scratch
}

func newTextPage(base record.Sample) *textPage {
	return &textPage{base: base, seen: make(map[string]*record.Sample)}
}

// append appends the rows of a page to rows, all taken at the given instant: like a
// Prometheus server that does not honor timestamps, it believes its own clock.
func (p *textPage) append(rows []record.Sample, text []byte, at time.Time) ([]record.Sample, error) {
	exposed, err := familyNames(bytes.NewReader(text))
	if err != nil {
		return rows, err
	}
	p.expose(exposed)
	in := newOpenMetrics(bytes.NewReader(text))
	for {
		s, err := in.next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		row, err := p.row(s)
		if err != nil {
			return rows, in.errorf("%w", err)
		}
		row.At = at
		rows = append(rows, row)
	}
}

// expose says which families there are: where a quantity has its old and its new name,
// only the new one is canonical.
func (p *textPage) expose(families map[string]bool) {
	if !maps.Equal(families, p.exposed) {
		p.exposed = families
		clear(p.seen)
	}
}

// row returns the row of a sample without its instant.
func (p *textPage) row(s exposedSample) (record.Sample, error) {
	p.key = append(append(append(p.key[:0], s.kind...), 0), s.series...)
	known := p.seen[string(p.key)]
	if known == nil {
		row, err := p.make(s)
		if err != nil {
			return row, err
		}
		known = &row
		p.seen[string(p.key)] = known
	}
	row := *known
	row.Value = s.value
	return row, nil
}

func (p *textPage) make(s exposedSample) (record.Sample, error) {
	row := p.base
	name, labels, err := parseSeries(s.series)
	if err != nil {
		return row, err
	}
	labels = takeIdentity(&row, labels)
	family, suffix := s.split(name)
	row.Metric, row.Canonical, row.Type = name, renamed.canonical(family, false), rowType(s.kind, name)
	if p.exposed[row.Canonical] {
		row.Canonical = family
	}
	row.Canonical += suffix
	fill(&row, labels)
	return row, nil
}

// split returns the family of a sample as the text format of Prometheus names it, and
// what its own name has beside that.
func (s exposedSample) split(name string) (family, suffix string) {
	switch s.kind {
	case "histogram", "summary", "gaugehistogram":
		if suffix := strings.TrimPrefix(name, s.family); suffix != "_created" {
			return s.family, suffix
		}
	case "unknown":
		return splitUntyped(name)
	}
	return name, ""
}

// rowType maps the types of OpenMetrics to those of rows.
func rowType(kind, name string) string {
	switch {
	case strings.HasSuffix(name, "_created") && kind != "gauge" && kind != "unknown":
		return "gauge"
	case kind == "gaugehistogram":
		return "histogram"
	case kind == "info" || kind == "stateset":
		return "gauge"
	case kind == "unknown":
		return "untyped"
	}
	return kind
}

// familyNames returns the families of a text, which it reads to the end.
func familyNames(r io.Reader) (map[string]bool, error) {
	names, series := make(map[string]bool), make(map[string]bool)
	in := newOpenMetrics(r)
	for {
		s, err := in.next()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		text, _, _ := bytes.Cut(s.series, []byte{'{'})
		if series[string(text)] {
			continue
		}
		series[string(text)] = true
		family, _ := s.split(string(text))
		names[family] = true
	}
}
