package scrape

import (
	"net/http"
	"strings"
	"testing"

	"bgbench/pkg/record"
)

var textHeader = http.Header{"Content-Type": {"text/plain; version=0.0.4"}}

// readText has a page read text, and says whether it was known.
func readText(p *page, text string) (rows string, known bool, err error) {
	p.body.Reset()
	p.body.WriteString(text)
	_, known = p.known.read(nil, p.body.Bytes(), at)
	err = p.read(textHeader, at)
	return show(p.rows), known, err
}

func TestPageOfWhichTheLinesAreKnownReadsAsOneThatIsNew(t *testing.T) {
	head := "# HELP h A.\n# TYPE h histogram\n"
	p := newPage("s", record.Sample{})
	for _, c := range []struct {
		name, text string
		known      bool
	}{
		{"the first page", head + "h_bucket{le=\"1.0\"} 1.0\nh_bucket{le=\"+Inf\"} 2\nh_sum 0.5\nh_count 2\nx{a=\"b c\"} 1\n", false},
		{"other values", head + "h_bucket{le=\"1.0\"} 3.0\nh_bucket{le=\"+Inf\"} 4\nh_sum 1e3\nh_count 4\nx{a=\"b c\"} NaN\n", true},
		{"half an observation", head + "h_bucket{le=\"1.0\"} 3.5\nh_bucket{le=\"+Inf\"} 4\nh_sum 1e3\nh_count 4\nx{a=\"b c\"} NaN\n", false},
		{"infinite", head + "h_bucket{le=\"1.0\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum +Inf\nh_count 4\nx{a=\"b c\"} -Inf\n", true},
		{"a timestamp", head + "h_bucket{le=\"1.0\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum 1\nh_count 4\nx{a=\"b c\"} 1 1000\n", false},
		{"another help", "# HELP h B.\n# TYPE h histogram\nh_bucket{le=\"1.0\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum 1\nh_count 4\nx{a=\"b c\"} 1\n", false},
		{"one more series", head + "h_bucket{le=\"1.0\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum 1\nh_count 4\nx{a=\"b c\"} 1\nx{a=\"c\"} 1\n", false},
		{"the same with another value", head + "h_bucket{le=\"1.0\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum 1\nh_count 4\nx{a=\"b c\"} 1\nx{a=\"c\"} 7\n", true},
		{"a series less", head + "h_bucket{le=\"1.0\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum 1\nh_count 4\nx{a=\"b c\"} 1\n", false},
		{"no last bucket", head + "h_bucket{le=\"1.0\"} 3\nh_sum 1\nh_count 4\n", false},
		{"still no last bucket", head + "h_bucket{le=\"1.0\"} 3\nh_sum 1\nh_count 5\n", false},
		{"nothing", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, known, err := readText(p, c.text)
			want, _, _ := readText(newPage("s", record.Sample{}), c.text)
			if err != nil || got != want || known != c.known {
				t.Errorf("found %v, known %t and\n%sexpected known %t and\n%s", err, known, got, c.known, want)
			}
		})
	}
	if _, _, err := readText(p, "x one\n"); err == nil || len(p.rows) != 0 {
		t.Errorf("a broken page: found %v and %d rows", err, len(p.rows))
	}
}

func FuzzKnownText(f *testing.F) {
	f.Add("# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\nx 1\n", "x 1", "x 0x1p-2")
	f.Add("a{b=\"c\"} 1\n", "1", "1 2")
	f.Fuzz(func(t *testing.T, first, old, new string) {
		second := strings.Replace(first, old, new, 1)
		p := newPage("s", record.Sample{})
		if _, _, err := readText(p, first); err != nil {
			return
		}
		got, known, err := readText(p, second)
		want, _, wantErr := readText(newPage("s", record.Sample{}), second)
		if known && (got != want || (err == nil) != (wantErr == nil)) {
			t.Errorf("found %v and\n%sexpected %v and\n%s", err, got, wantErr, want)
		}
	})
}
