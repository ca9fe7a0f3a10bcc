package interop

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// benchstatStats are the numbers that go to benchstat, which makes its own statistics
// of them over trials.
var benchstatStats = []string{"mean", "p50", "p90", "p95", "p99"}

// benchstatNoKey are labels that differ from trial to trial, over which benchstat is to
// make statistics, and those that the name of the benchmark has.
var benchstatNoKey = []string{"trial", "phase", "class", "id", "date", "start_time"}

// benchstatProcs is what benchstat would take for GOMAXPROCS.
var benchstatProcs = regexp.MustCompile(`-(\d+)$`)

// writeBenchstat writes the text format of Go benchmarks: a line for each run, so for
// each trial, and a unit for each number, which names the definition because benchstat
// compares what has the same name and unit. Runs differ in the configuration keys
// above them: benchstat -col arm FILE.
func (d Document) writeBenchstat(w io.Writer) error {
	var out strings.Builder
	better := make(map[string]string)
	for _, r := range d.Runs {
		for _, m := range r.Metrics {
			for _, s := range m.benchstat() {
				better[s.unit] = m.better()
			}
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(better)) {
		if better[unit] != "" {
			fmt.Fprintf(&out, "Unit %s better=%s\n", unit, better[unit])
		}
	}
	var set []string // configuration keys
	for _, r := range d.Runs {
		var values strings.Builder
		seen := make(map[string]bool) // what a file reports and its records give can be one
		for _, m := range r.Metrics {
			for _, s := range m.benchstat() {
				if !seen[s.unit] {
					seen[s.unit] = true
					fmt.Fprintf(&values, " %v %s", *s.value, s.unit)
				}
			}
		}
		if values.Len() == 0 {
			continue
		}
		configuration := map[string]string{"tool": r.Tool}
		maps.Copy(configuration, r.Labels)
		for _, key := range benchstatNoKey {
			delete(configuration, key)
		}
		name := "BenchmarkRun/run=" + benchstatName(r.Name)
		if r.Cell != nil {
			name = "BenchmarkCell/phase=" + benchstatName(r.Cell.Phase) + "/class=" + benchstatName(r.Cell.Class)
		}
		name = benchstatProcs.ReplaceAllString(name, "_$1")
		out.WriteString("\n")
		for _, key := range set { // a key holds until it is taken back
			if _, ok := configuration[key]; !ok {
				fmt.Fprintf(&out, "%s:\n", strings.ReplaceAll(key, "_", "-"))
			}
		}
		set = slices.Sorted(maps.Keys(configuration))
		for _, key := range set {
			fmt.Fprintf(&out, "%s: %s\n", strings.ReplaceAll(key, "_", "-"), strings.Join(strings.Fields(configuration[key]), " "))
		}
		n := 1
		if r.Requests.OK != nil {
			n = max(1, *r.Requests.OK)
		}
		fmt.Fprintf(&out, "%s %d%s\n", name, n, values.String())
	}
	_, err := io.WriteString(w, out.String())
	return err
}

type benchstatValue struct {
	unit  string
	value *float64
}

// benchstat are the numbers of a metric of successful requests under their units.
func (m Metric) benchstat() []benchstatValue {
	if m.Of != OfOK {
		return nil
	}
	unit := "-" + benchstatName(m.Unit)
	switch {
	case m.Unit == "s":
		unit = "-sec" // which benchstat scales
	case strings.HasSuffix(m.Unit, "/s"):
		unit = "" // the name of the metric says it
	}
	name := benchstatName(string(m.Definition))
	if m.Quantiles == QuantilesNearestRank {
		name += "-nearest-rank"
	}
	if len(m.Percentiles) == 0 && m.Max == nil && m.Mean != nil {
		return []benchstatValue{{name + unit, m.Mean}}
	}
	var out []benchstatValue
	for _, s := range m.stats() {
		if s.value != nil && slices.Contains(benchstatStats, s.name) {
			out = append(out, benchstatValue{name + "-" + s.name + unit, s.value})
		}
	}
	return out
}

// better says which way is up; nothing for what is neither.
func (m Metric) better() string {
	switch {
	case m.Unit == "s" || m.Unit == "ratio":
		return "lower"
	case strings.HasSuffix(m.Unit, "/s"):
		return "higher"
	}
	return ""
}

// benchstatName keeps a word free of what the format gives a meaning.
func benchstatName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' || r == '=' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
}
