package analysis

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// armColumns follow each metric of WriteArms: the estimate over trials, and the comparison
// with the baseline.
var armColumns = []struct {
	name string
	of   func(Estimate, Comparison) string
}{
	{"median", func(e Estimate, _ Comparison) string { return shortest(e.Median) }},
	{"min", func(e Estimate, _ Comparison) string { return shortest(e.Min) }},
	{"max", func(e Estimate, _ Comparison) string { return shortest(e.Max) }},
	{"n", func(e Estimate, _ Comparison) string { return strconv.Itoa(e.TrialsUse) }},
	{"ratio", func(_ Estimate, c Comparison) string { return shortest(c.Ratio) }},
	{"ci_low", func(_ Estimate, c Comparison) string { return shortest(c.Low) }},
	{"ci_high", func(_ Estimate, c Comparison) string { return shortest(c.High) }},
	{"verdict", func(_ Estimate, c Comparison) string { return c.Verdict }},
}

// WriteArms writes a line an arm, of tab-separated values under a heading: the keys that a
// sweep set, and the metrics under keys. What does not exist is empty.
func WriteArms(w io.Writer, r Results, keys []string) error {
	for _, key := range keys {
		if !anyHas([]Results{r}, key) {
			return fmt.Errorf("metric %s: no arm has it, expected a key such as %s", key, r.anyKey())
		}
	}
	var factors []string
	for _, a := range r.Arms {
		for _, f := range a.Factors {
			if !slices.Contains(factors, f.Key) {
				factors = append(factors, f.Key)
			}
		}
	}
	out := csv.NewWriter(w)
	out.Comma = '\t'
	head := append([]string{"arm", "baseline", "swept_from", "point", "trials", "invalid"}, factors...)
	for _, key := range keys {
		for _, c := range armColumns {
			head = append(head, key+" "+c.name)
		}
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, a := range r.Arms {
		row := []string{a.Name, strconv.FormatBool(a.Baseline), a.SweptFrom, a.Point, strconv.Itoa(a.Trials), strconv.Itoa(a.Invalid)}
		for _, key := range factors {
			row = append(row, a.factor(key))
		}
		for _, key := range keys {
			for _, c := range armColumns {
				row = append(row, c.of(a.Metrics[key], a.Against[key]))
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// anyKey is an example of a metric.
func (r Results) anyKey() string {
	var keys []string
	for _, a := range r.Arms {
		for key := range a.Metrics {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if strings.HasSuffix(key, "/interactive/"+MetricTTFT+"/"+StatP95) {
			return key
		}
	}
	return strings.Join(keys[:min(1, len(keys))], "")
}

func (a ArmResult) factor(key string) string {
	for _, f := range a.Factors {
		if f.Key == key {
			return fmt.Sprint(f.Value)
		}
	}
	return ""
}

// shortest is the fewest digits that are the same number again.
func shortest(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
