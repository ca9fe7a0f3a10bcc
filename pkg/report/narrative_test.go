package report

import (
	"strings"
	"testing"

	"bgbench/pkg/analysis"
)

// told is everything that the page says in sentences of its own.
func told(r analysis.Results) string {
	a := newStudy(r).answer()
	return strings.ReplaceAll(a.Interactive+" "+a.Batch, "\u00a0", " ")
}

// each edits every comparison of the fixture.
func each(edit func(*analysis.Comparison)) analysis.Results {
	r := fixture()
	for i := range r.Arms {
		for key, c := range r.Arms[i].Against {
			edit(&c)
			r.Arms[i].Against[key] = c
		}
	}
	return r
}

// The text is made of verdicts: with the verdicts turned round it says the opposite, and
// without any it concludes nothing.
func TestNarrativeFollowsTheData(t *testing.T) {
	as := told(fixture())
	if !strings.Contains(as, "is degraded in s1-no-gateway") || strings.Contains(as, "protected") {
		t.Fatalf("of the fixture it says: %s", as)
	}
	inverted := told(each(func(c *analysis.Comparison) {
		switch c.Verdict {
		case analysis.VerdictDegraded:
			c.Verdict = analysis.VerdictProtected
		case analysis.VerdictProtected:
			c.Verdict = analysis.VerdictDegraded
		}
	}))
	if !strings.Contains(inverted, "is protected within 10 % in s1-no-gateway") || strings.Contains(inverted, "degraded") {
		t.Errorf("of inverted verdicts it says: %s", inverted)
	}
	null := told(each(func(c *analysis.Comparison) { *c = analysis.Comparison{Reason: "no trial has both values"} }))
	if !strings.Contains(null, "(n = 0) allows no conclusion for s1-no-gateway (no trial has both values)") ||
		strings.Contains(null, "protected") || strings.Contains(null, "degraded") {
		t.Errorf("of null data it says: %s", null)
	}

	r := fixture()
	for i := range r.Arms {
		for j := range r.Arms[i].Jobs {
			r.Arms[i].Jobs[j].Met = r.Arms[i].Jobs[j].Trials - r.Arms[i].Jobs[j].Met
		}
	}
	met, missed := "every line of every batch job was done within its window in ", "missed their windows in "
	_, before, _ := strings.Cut(as, met)
	_, after, _ := strings.Cut(told(r), missed)
	if !strings.HasPrefix(before, "s1-no-gateway") || !strings.Contains(after, "s1-no-gateway") {
		t.Errorf("jobs that were met and then were not: %s | %s", as, told(r))
	}
	r.Arms, r.Cells = r.Arms[:1], nil
	r.Arms[0].Jobs = nil
	if none := told(r); !strings.Contains(none, "No conclusion: there is no arm to compare") || !strings.Contains(none, "No conclusion about batch deadlines") {
		t.Errorf("of one arm without jobs it says: %s", none)
	}
}

func TestEvictionsAreToldWithWhatBecameOfThem(t *testing.T) {
	value := func(v float64) analysis.Value { return measured(v, 1) }
	for _, c := range []struct {
		name  string
		batch analysis.BatchSummary
		redid analysis.Value
		want  string
	}{
		{"lines that can be followed", analysis.BatchSummary{Evicted: &analysis.EvictedWork{Issued: value(5), Lines: value(4), OneResult: value(4)}}, value(900),
			"5 evictions over n = 1; 4 of 4 evicted lines had exactly one final result; 900 tokens were computed again"},
		{"a batch gateway hides attempts", analysis.BatchSummary{Evicted: &analysis.EvictedWork{Issued: value(5)}}, missing("x"),
			"5 evictions over n = 1; no line was lost or has two results"},
		{"lines that were lost", analysis.BatchSummary{Evicted: &analysis.EvictedWork{Issued: value(5)}, Lines: analysis.Accounting{Lost: 2}}, missing("x"),
			"5 evictions over n = 1; 2 lines lost or with two results"},
		{"none", analysis.BatchSummary{Evicted: &analysis.EvictedWork{Issued: value(0)}}, value(0), "0 evictions over n = 1"},
		{"an arm that cannot evict", analysis.BatchSummary{}, value(0), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStudy(analysis.Results{Arms: []analysis.ArmResult{{Name: "e"}},
				Cells: []analysis.CellResult{{Arm: "e", Trial: 1, Valid: true, Batch: c.batch, Tokens: analysis.TokenSummary{Redone: c.redid}}}})
			if got := strings.ReplaceAll(s.Arms[0].evictionsTold(), "\u00a0", " "); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}
