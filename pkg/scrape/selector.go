package scrape

import (
	"fmt"
	"strconv"
	"strings"
)

// Selector picks raw samples of a Prometheus server.
type Selector struct {
	// Wanted is what is expected; it has no name in a selector that a user wrote.
	Wanted Quantity
	// PromQL is an instant vector selector.
	PromQL string
}

// Filter is which series of a server belong to the stack. Empty fields let all in.
type Filter struct {
	Namespace string
	Pod       string // regular expression that matches the whole name
}

func (f Filter) matchers() []string {
	var out []string
	if f.Namespace != "" {
		out = append(out, "namespace="+strconv.Quote(f.Namespace))
	}
	if f.Pod != "" {
		out = append(out, "pod=~"+strconv.Quote(f.Pod))
	}
	return out
}

// Selector picks a quantity under all the names that it may be exposed by.
func (f Filter) Selector(q Quantity) Selector {
	name := `__name__=~"` + strings.Join(renamed.exposedAs(q.Name), "|") + `"`
	return Selector{q, "{" + strings.Join(append([]string{name}, f.matchers()...), ",") + "}"}
}

// Match narrows a selector that a user wrote.
func (f Filter) Match(selector string) (Selector, error) {
	text := strings.TrimSpace(selector)
	if isName(text) {
		text += "{}"
	}
	before, ok := strings.CutSuffix(text, "}")
	if end, err := seriesEnd([]byte(text + " ")); !ok || err != nil || end != len(text) {
		return Selector{}, fmt.Errorf(`found %s, expected a selector such as up or {job="vllm"}`, shown(selector))
	}
	before = strings.TrimRight(strings.TrimRight(before, " "), ",")
	matchers := strings.Join(f.matchers(), ",")
	if matchers != "" && !strings.HasSuffix(before, "{") {
		before += ","
	}
	return Selector{PromQL: before + matchers + "}"}, nil
}

// Query is a derived expression and the name of the metric that it becomes.
type Query struct{ Name, PromQL string }

// ParseQuery reads NAME=PROMQL.
func ParseQuery(text string) (Query, error) {
	name, promQL, ok := strings.Cut(text, "=")
	if !ok || !isName(name) || strings.TrimSpace(promQL) == "" {
		return Query{}, fmt.Errorf("found %s, expected NAME=PROMQL, such as kv=avg(vllm:kv_cache_usage_perc)", shown(text))
	}
	return Query{name, promQL}, nil
}
