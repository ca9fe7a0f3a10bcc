package conform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func parseMetrics(t *testing.T, name string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	text, err := os.ReadFile(filepath.Join(recorded, "metrics", name))
	if err != nil {
		t.Fatal(err)
	}
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func byName(families []*dto.MetricFamily) map[string]*dto.MetricFamily {
	m := map[string]*dto.MetricFamily{}
	for _, f := range families {
		m[f.GetName()] = f
	}
	return m
}

// shape is what must not differ between two pages: name, type, help, the labels of
// each series and the bounds of its buckets.
func shape(families map[string]*dto.MetricFamily) (lines []string) {
	for name, f := range families {
		for _, m := range f.Metric {
			line := fmt.Sprintf("%s %s %q", name, f.GetType(), f.GetHelp())
			for _, l := range m.Label {
				line += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			if m.Histogram != nil {
				for _, b := range m.Histogram.Bucket {
					line += fmt.Sprint(" ", b.GetUpperBound())
				}
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// counts gives the values that do not depend on the speed of the machine.
func counts(families map[string]*dto.MetricFamily) map[string]float64 {
	values := map[string]float64{}
	for name, f := range families {
		// How often a window fills depends on the order in which requests that are in
		// flight together end.
		if name == "batch_processor_aimd_increases_total" || name == "batch_processor_aimd_concurrency_limit" {
			continue
		}
		for _, m := range f.Metric {
			key := name
			for _, l := range m.Label {
				key += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			switch {
			case m.Counter != nil:
				values[key] = m.Counter.GetValue()
			case m.Gauge != nil:
				values[key] = m.Gauge.GetValue()
			default:
				values[key] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return values
}

// TestRecordedMetrics scrapes the processor before, during and after the job
// mixed_answers and compares the pages with those of the real one.
func TestRecordedMetrics(t *testing.T) {
	d, err := read(recorded + "/jobs/mixed_answers/job.json")
	if err != nil {
		t.Fatal(err)
	}
	var j job
	if err := d.decode(&j); err != nil {
		t.Fatal(err)
	}
	cfg, err := j.Settings.config(d, "config")
	if err != nil {
		t.Fatal(err)
	}
	var o outcome
	r := newRig(&o, cfg, time.Duration(j.Latency*float64(time.Millisecond)))
	scrape := func() map[string]*dto.MetricFamily { return byName(r.g.Processor().Gather()) }

	compare := func(file string, ours map[string]*dto.MetricFamily, values bool) {
		t.Helper()
		recorded := parseMetrics(t, file)
		if diff := cmp.Diff(shape(recorded), shape(ours)); diff != "" {
			t.Errorf("%s (- recorded, + ours):\n%s", file, diff)
		}
		if !values {
			return
		}
		if diff := cmp.Diff(counts(recorded), counts(ours)); diff != "" {
			t.Errorf("%s, values (- recorded, + ours):\n%s", file, diff)
		}
	}
	compare("processor_before.txt", scrape(), true)
	var during map[string]*dto.MetricFamily
	r.k.At(700*time.Millisecond, func() { during = scrape() })
	input, err := besides(recorded+"/jobs/mixed_answers", "input.jsonl", true)
	if err != nil {
		t.Fatal(err)
	}
	r.submit(0, input, "1h")
	r.run(time.Second)
	for _, d := range o.differences {
		t.Error(d)
	}
	compare("processor_during.txt", during, false)
	compare("processor_after.txt", scrape(), true)
	if got := during["processor_inflight_requests"].Metric[0].Gauge.GetValue(); got != 6 {
		t.Errorf("%v in flight at a limit of 4, recorded 6: two more wait for a slot", got)
	}
}

func TestAPIServerMetrics(t *testing.T) {
	var o outcome
	r := newRig(&o, plainConfig(1, 100, 4), 0)
	for _, route := range [][2]string{{"GET", "/v1/batches/{batch_id}"}, {"POST", "/v1/batches"}, {"POST", "/v1/files"}} {
		r.g.ObserveHTTPStart(route[0], route[1])
		r.g.ObserveHTTPEnd(route[0], route[1], 200, 3*time.Millisecond)
	}
	ours := byName(r.g.APIServer().Gather())
	if diff := cmp.Diff(shape(parseMetrics(t, "apiserver_after.txt")), shape(ours)); diff != "" {
		t.Errorf("apiserver (- recorded, + ours):\n%s", diff)
	}
}
