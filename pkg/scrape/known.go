package scrape

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/record"
)

// knownText reads the text of a page that differs from the last one in its values
// alone, as nearly all do. What expfmt said of the last one then holds for this one:
// expfmt alone took three quarters of the time of a scrape (BenchmarkHourOfSamples).
type knownText struct {
	lines []knownLine // of the last page; none if its lines are not its rows
	rows  []record.Sample
}

// knownLine is a line up to its value.
type knownLine struct {
	text  string
	row   int  // -1 for a comment, which text has all of
	count bool // expfmt makes an integer of the value
}

// read appends the rows of a page to rows, if all its lines but the values are known.
func (k *knownText) read(rows []record.Sample, page []byte, at time.Time) ([]record.Sample, bool) {
	if len(k.lines) == 0 {
		return rows, false
	}
	before, begin := rows, len(rows)
	rows = append(rows, k.rows...)
	mine := rows[begin:]
	for _, known := range k.lines {
		end := bytes.IndexByte(page, '\n')
		if end < len(known.text) || string(page[:len(known.text)]) != known.text {
			return before, false
		}
		rest := page[len(known.text):end]
		page = page[end+1:]
		if known.row < 0 {
			if len(rest) > 0 {
				return before, false
			}
			continue
		}
		value, ok := plainNumber(rest)
		if !ok || known.count && !(value >= 0 && value < 1<<53 && value == math.Trunc(value)) {
			return before, false
		}
		mine[known.row].At, mine[known.row].Value = at, value
	}
	return rows, len(page) == 0
}

// plainNumber reads a value behind which nothing stands. What expfmt might judge
// otherwise than strconv is left to it.
func plainNumber(text []byte) (float64, bool) {
	if len(text) == 0 || bytes.ContainsAny(text, "pP_ \t") {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(text), 64)
	return value, err == nil
}

// learn remembers a page and its rows, if each of its lines is one of them.
func (k *knownText) learn(page []byte, rows []record.Sample) {
	k.lines, k.rows = k.lines[:0], append(k.rows[:0], rows...)
	places := make(map[[2]string]int, len(rows))
	for i := range rows {
		places[[2]string{rows[i].Metric, rows[i].Labels}] = i
	}
	used := make([]bool, len(rows))
	for line := range bytes.Lines(page) {
		line, whole := bytes.CutSuffix(line, []byte{'\n'})
		if len(line) == 0 || line[0] == '#' {
			k.lines = append(k.lines, knownLine{string(line), -1, false})
			continue
		}
		end, err := seriesEnd(line)
		if err != nil || !whole {
			k.lines = k.lines[:0]
			return
		}
		name, labels, err := parseSeries(line[:end])
		var row record.Sample
		row.Metric = name
		fill(&row, labels)
		place, ok := places[[2]string{name, row.Labels}]
		if err != nil || !ok || used[place] {
			k.lines = k.lines[:0]
			return
		}
		used[place] = true
		k.lines = append(k.lines, knownLine{string(line[:end+1]), place, isCount(&rows[place])})
	}
	for _, u := range used {
		if !u { // a row that no line stands for, such as a bucket that was added
			k.lines = k.lines[:0]
			return
		}
	}
}

func isCount(row *record.Sample) bool {
	switch row.Type {
	case "histogram":
		return !strings.HasSuffix(row.Metric, "_sum")
	case "summary":
		return strings.HasSuffix(row.Metric, "_count")
	}
	return false
}
