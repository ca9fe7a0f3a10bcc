package scrape

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"

	"bgbench/pkg/record"
)

type label struct{ name, value string }

// promote fills the columns of the labels that have one.
func promote(row *record.Sample, labels []label) {
	for i := range labels {
		var column **string
		switch labels[i].name {
		case "pod":
			column = &row.Pod
		case "instance":
			column = &row.Instance
		case "job":
			column = &row.Job
		case "model_name":
			column = &row.ModelName
		case "endpoint":
			column = &row.Endpoint
		case "priority":
			column = &row.Priority
		case "le":
			column = &row.LE
		case "engine":
			column = &row.Engine
		default:
			continue
		}
		value := labels[i].value
		*column = &value
	}
}

// canonicalJSON writes labels as an object with sorted keys and no space, the same
// text for the same labels. It sorts labels.
func canonicalJSON(labels []label) string {
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	b.WriteByte('{')
	for i, l := range labels {
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(&b, l.name)
		b.WriteByte(':')
		writeString(&b, l.value)
	}
	b.WriteByte('}')
	return b.String()
}

// writeString leaves < > and & as they are, for the eyes of who reads the column.
func writeString(b *bytes.Buffer, s string) {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s)   // neither a string nor a buffer fails
	b.Truncate(b.Len() - 1) // the line feed that Encode adds
}

// seriesID is the 64-bit FNV-1a hash of its parts with zero bytes between them.
func seriesID(source, metric, labels string) int64 {
	h := fnv.New64a()
	for i, part := range []string{source, metric, labels} {
		if i > 0 {
			h.Write([]byte{0})
		}
		io.WriteString(h, part)
	}
	return int64(h.Sum64())
}

// fill gives a row its labels: the columns of those that have one, all of them as
// JSON, and the series. It sorts labels, and writes bounds in one way: what a page calls
// 15 is 15.0 in a Prometheus server that read it as protobuf.
func fill(row *record.Sample, labels []label) {
	for i := range labels {
		if name := labels[i].name; name == "le" || name == "quantile" {
			if bound, err := strconv.ParseFloat(labels[i].value, 64); err == nil {
				labels[i].value = formatBound(bound)
			}
		}
	}
	promote(row, labels)
	row.Labels = canonicalJSON(labels)
	row.SeriesID = seriesID(row.Source, row.Metric, row.Labels)
}
