package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// maxWide is how many columns a wide file may have: parquet readers take some 30,000,
// notebooks a fraction of that.
const maxWide = 4000

// ErrTooWide is found in the error of samples that make too many columns.
var ErrTooWide = errors.New("too many series for columns")

// ErrNothingWide is the error of samples that have none of the metrics.
var ErrNothingWide = errors.New("found no samples of these metrics")

// WriteWide writes samples as a Parquet file with a row for each source and instant, and
// a column for each series: named canonical where a metric has one series a source, and
// canonical{label="value"} with the labels that tell its series apart. Histograms have
// their sums and counts, and buckets only if the names of metrics ask for them; without
// names all metrics are taken. All values are in memory at once.
func WriteWide(w io.Writer, samples iter.Seq2[Sample, error], metrics ...string) (rows int, err error) {
	p := pivot{columns: make(map[wideSeries][]string), rows: make(map[wideRow]map[wideSeries]float64)}
	for row, err := range samples {
		if err != nil {
			return 0, err
		}
		wanted := !strings.HasSuffix(row.Canonical, "_bucket")
		if len(metrics) > 0 {
			wanted = slices.Contains(metrics, row.Canonical) || slices.Contains(metrics, row.Metric)
		}
		if wanted {
			if err := p.add(row); err != nil {
				return 0, err
			}
		}
	}
	if len(p.rows) == 0 {
		return 0, ErrNothingWide
	}
	return len(p.rows), p.write(w)
}

// wideSeries is a series on any source.
type wideSeries struct{ canonical, labels string }

type wideRow struct {
	experiment, arm string
	trial           int32
	source          string
	at              int64 // microseconds
}

func (r wideRow) compare(o wideRow) int {
	return cmp.Or(cmp.Compare(r.experiment, o.experiment), cmp.Compare(r.arm, o.arm), cmp.Compare(r.trial, o.trial),
		cmp.Compare(r.at, o.at), cmp.Compare(r.source, o.source))
}

type pivot struct {
	columns map[wideSeries][]string // name=value of the labels
	rows    map[wideRow]map[wideSeries]float64
}

func (p *pivot) add(row Sample) error {
	series := wideSeries{row.Canonical, row.Labels}
	if _, ok := p.columns[series]; !ok {
		var labels map[string]string
		if err := json.Unmarshal([]byte(row.Labels), &labels); err != nil {
			return fmt.Errorf("labels of %s: %w", row.Metric, err)
		}
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(labels)) {
			texts = append(texts, name+"="+strconv.Quote(labels[name]))
		}
		if p.columns[series] = texts; len(p.columns) > maxWide {
			return fmt.Errorf("%w: found more than %d", ErrTooWide, maxWide)
		}
	}
	key := wideRow{row.Experiment, row.Arm, row.Trial, row.Source, row.At.UnixMicro()}
	if p.rows[key] == nil {
		p.rows[key] = make(map[wideSeries]float64)
	}
	p.rows[key][series] = row.Value
	return nil
}

// names gives each series the name of its column.
func (p *pivot) names() map[wideSeries]string {
	count, of := make(map[string]map[string]int), make(map[string]int)
	for series, labels := range p.columns {
		if of[series.canonical]++; count[series.canonical] == nil {
			count[series.canonical] = make(map[string]int)
		}
		for _, l := range labels {
			count[series.canonical][l]++
		}
	}
	out := make(map[wideSeries]string)
	for series, labels := range p.columns {
		telling := slices.DeleteFunc(slices.Clone(labels), func(l string) bool {
			return count[series.canonical][l] == of[series.canonical]
		})
		out[series] = series.canonical
		if len(telling) > 0 {
			out[series] += "{" + strings.Join(telling, ",") + "}"
		}
	}
	return out
}

// write writes the columns that say which row it is, then the series by name.
func (p *pivot) write(w io.Writer) error {
	names := p.names()
	group := parquet.Group{
		"experiment": parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
		"arm":        parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
		"trial":      parquet.Int(32),
		"source":     parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
		"at":         parquet.TimestampAdjusted(parquet.Microsecond, true),
	}
	for _, name := range names {
		group[name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	schema := parquet.NewSchema("bg_wide", group)
	place := make(map[string]int)
	for i, path := range schema.Columns() {
		place[path[0]] = i
	}
	out := parquet.NewWriter(w, schema, parquet.Compression(&parquet.Zstd))
	row := make(parquet.Row, len(place))
	for _, key := range slices.SortedFunc(maps.Keys(p.rows), wideRow.compare) {
		for _, i := range place {
			row[i] = parquet.NullValue().Level(0, 0, i)
		}
		set := func(name string, value parquet.Value, definition int) {
			row[place[name]] = value.Level(0, definition, place[name])
		}
		set("experiment", parquet.ByteArrayValue([]byte(key.experiment)), 0)
		set("arm", parquet.ByteArrayValue([]byte(key.arm)), 0)
		set("trial", parquet.Int32Value(key.trial), 0)
		set("source", parquet.ByteArrayValue([]byte(key.source)), 0)
		set("at", parquet.Int64Value(key.at), 0)
		for series, value := range p.rows[key] {
			set(names[series], parquet.DoubleValue(value), 1)
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}
