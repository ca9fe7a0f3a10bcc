package report

import (
	"encoding/csv"
	"strings"
	"testing"
)

func TestCSVHasARowAnArmAndNoFormula(t *testing.T) {
	r := fixture()
	r.Arms[2].Name = `=HYPERLINK("x"),"` // a spreadsheet would run it
	rows, err := csv.NewReader(strings.NewReader(newStudy(r).summaryCSV())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(r.Arms) {
		t.Fatalf("%d rows, want a head and one of each arm", len(rows))
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, c := range []struct{ head, want string }{
		{"arm", "s1-no-gateway"}, {"baseline", "false"}, {"trials", "3"},
		{"burst/interactive/ttft/p95 median", "1.80205"}, {"burst/interactive/ttft/p95 verdict", "degraded"},
		{"job A met", "3 of 3"}, {"job A window_s", "660"},
	} {
		i, ok := column[c.head]
		if !ok || rows[2][i] != c.want {
			t.Errorf("%s: found %v, want %s", c.head, rows[2][min(i, len(rows[2])-1)], c.want)
		}
	}
	if !strings.HasPrefix(rows[3][0], "'=") {
		t.Errorf("a name that is a formula stands as %s", rows[3][0])
	}
}
