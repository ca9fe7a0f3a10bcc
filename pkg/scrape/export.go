package scrape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/record"
)

// Export writes samples, sorted by metric, series and time, as OpenMetrics text with
// timestamps, which promtool tsdb create-blocks-from openmetrics takes. The columns
// that are no labels of a series become labels that begin with bg_, and instance one
// of its own.
//
// The text has the series of a histogram one after the other, as a database does, where
// OpenMetrics would have all its buckets of an instant together.
func Export(w io.Writer, samples iter.Seq2[record.Sample, error]) error {
	e := exporter{out: bufio.NewWriterSize(w, 1<<16)}
	for row, err := range samples {
		if err == nil {
			err = e.add(&row)
		}
		if err != nil {
			return err
		}
	}
	e.end()
	e.out.WriteString("# EOF\n")
	return e.out.Flush()
}

// exporter writes families one after the other. A histogram is three metrics, between
// which the names of others may stand: those wait until its last metric is over.
type exporter struct {
	out     *bufio.Writer
	family  exportedFamily
	waiting []*waitingFamily

	last   record.Sample // of which series is the text
	series string
	line   []byte
}

type exportedFamily struct{ name, kind string }

type waitingFamily struct {
	exportedFamily
	lines bytes.Buffer
}

func (e *exporter) add(row *record.Sample) error {
	family := familyOf(row)
	if err := e.write(row, family); err != nil {
		return err
	}
	if family == e.family {
		_, err := e.out.Write(e.line)
		return err
	}
	if e.family.name != "" && row.Metric <= e.family.lastMetric() {
		for _, w := range e.waiting {
			if w.exportedFamily == family {
				w.lines.Write(e.line)
				return nil
			}
		}
		w := &waitingFamily{exportedFamily: family}
		w.lines.Write(e.line)
		e.waiting = append(e.waiting, w)
		return nil
	}
	e.end()
	e.family = family
	e.head(family)
	_, err := e.out.Write(e.line)
	return err
}

// end writes the families that waited for the last one to be over.
func (e *exporter) end() {
	for _, w := range e.waiting {
		e.head(w.exportedFamily)
		e.out.Write(w.lines.Bytes())
	}
	e.waiting = nil
}

func (e *exporter) head(f exportedFamily) {
	name := f.name
	if !isName(name) {
		name = quote(name)
	}
	fmt.Fprintf(e.out, "# TYPE %s %s\n", name, f.kind)
}

// lastMetric is the name of the family that sorts last.
func (f exportedFamily) lastMetric() string {
	if f.kind == "histogram" || f.kind == "summary" {
		return f.name + "_sum"
	}
	return f.name
}

func familyOf(row *record.Sample) exportedFamily {
	switch row.Type {
	case "histogram", "summary":
		family, _ := splitEnding(row.Metric)
		return exportedFamily{family, row.Type}
	case "counter":
		return exportedFamily{strings.TrimSuffix(row.Metric, "_total"), row.Type}
	case "gauge", "derived":
		return exportedFamily{row.Metric, "gauge"}
	}
	return exportedFamily{row.Metric, "unknown"}
}

// write makes the line of a row.
func (e *exporter) write(row *record.Sample, family exportedFamily) error {
	shape := *row
	shape.At, shape.Value = time.Time{}, 0
	if e.series == "" || shape != e.last {
		text, err := seriesText(row, family)
		if err != nil {
			return err
		}
		e.series, e.last = text, shape
	}
	e.line = append(append(e.line[:0], e.series...), ' ')
	e.line = append(strconv.AppendFloat(e.line, row.Value, 'g', -1, 64), ' ')
	e.line = append(appendSeconds(e.line, row.At.UnixMicro()), '\n')
	return nil
}

// seriesText writes name and labels. A counter has the ending that OpenMetrics asks for.
func seriesText(row *record.Sample, family exportedFamily) (string, error) {
	var all map[string]string
	if err := json.Unmarshal([]byte(row.Labels), &all); err != nil {
		return "", fmt.Errorf("labels of %s: found %s, expected a JSON object of texts", row.Metric, shown(row.Labels))
	}
	labels := identityLabels(row)
	if _, ok := all["instance"]; !ok && row.Instance != nil {
		labels = append(labels, label{"instance", *row.Instance})
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		labels = append(labels, label{name, all[name]})
	}
	name := row.Metric
	if family.kind == "counter" {
		name = family.name + "_total"
	}
	var b strings.Builder
	if isName(name) {
		b.WriteString(name + "{")
	} else {
		b.WriteString("{" + quote(name) + ",")
	}
	for i, l := range labels {
		if i > 0 {
			b.WriteByte(',')
		}
		if key := l.name; isName(key) {
			b.WriteString(key)
		} else {
			b.WriteString(quote(key))
		}
		b.WriteString("=" + quote(l.value))
	}
	b.WriteByte('}')
	return b.String(), nil
}

var openMetricsEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func quote(s string) string { return `"` + openMetricsEscapes.Replace(s) + `"` }

// appendSeconds writes microseconds as seconds without zeros at the end.
func appendSeconds(to []byte, micros int64) []byte {
	if micros < 0 {
		to, micros = append(to, '-'), -micros
	}
	to = strconv.AppendInt(to, micros/1e6, 10)
	if rest := micros % 1e6; rest != 0 {
		to = append(to, '.')
		to = append(to, strings.TrimRight(fmt.Sprintf("%06d", rest), "0")...)
	}
	return to
}
