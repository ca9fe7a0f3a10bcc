package router

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// notModelled are families of the recorded pages that the model leaves out.
var notModelled = []string{
	// They time the router's code, which takes no time here.
	"llm_d_epp_plugin_duration_seconds", "inference_extension_plugin_duration_seconds",
	// Answers are tokens here, not bytes.
	"llm_d_epp_response_size_bytes", "inference_objective_response_sizes",
	// The recording's model server lacked a family that every vLLM has.
	"llm_d_epp_datalayer_extract_errors_total", "llm_d_inference_scheduler_datalayer_extract_errors_total",
}

// The pages were read from the real router after two of the recorded cases.
func TestMetricsHaveTheRealNamesTypesAndLabels(t *testing.T) {
	for page, name := range map[string]string{"epp-flow-control": "metrics-flow-control", "epp-admission": "metrics-admission"} {
		t.Run(page, func(t *testing.T) {
			real := readPage(t, "testdata/metrics/"+page+".txt")
			ours := map[string]*dto.MetricFamily{}
			p := replayMetrics(t, name)
			for _, f := range p.r.Metrics().Gather() {
				ours[f.GetName()] = f
			}
			for name, want := range real {
				if slices.Contains(notModelled, name) {
					continue
				}
				got := ours[name]
				if got == nil {
					t.Errorf("%s is missing", name)
					continue
				}
				delete(ours, name)
				if got.GetType() != want.GetType() || got.GetHelp() != want.GetHelp() {
					t.Errorf("%s: got %v %q\nwant %v %q", name, got.GetType(), got.GetHelp(), want.GetType(), want.GetHelp())
				}
				if g, w := labelNames(got.Metric[0]), labelNames(want.Metric[0]); !slices.Equal(g, w) {
					t.Errorf("%s: labels: got %v, want %v", name, g, w)
				}
				if g, w := bounds(got.Metric[0]), bounds(want.Metric[0]); !slices.Equal(g, w) {
					t.Errorf("%s: buckets: got %v, want %v", name, g, w)
				}
			}
			// No series on the recorded pages, but in the source: they need an answer
			// that tells its usage in a stream.
			for _, name := range []string{"llm_d_epp_request_cached_tokens", "inference_objective_prompt_cached_tokens", "llm_d_epp_request_streaming_tpot_seconds"} {
				delete(ours, name)
			}
			for name := range ours {
				t.Errorf("%s is not on the real page", name)
			}
		})
	}
}

// Counts are the same, series by series; only times differ.
func TestMetricsCountWhatTheRealRouterCounts(t *testing.T) {
	real := readPage(t, "testdata/metrics/epp-flow-control.txt")
	ours := map[string]map[string]float64{}
	p := replayMetrics(t, "metrics-flow-control")
	for _, f := range p.r.Metrics().Gather() {
		ours[f.GetName()] = seriesOf(f)
	}
	for _, name := range []string{
		"llm_d_epp_flow_control_requests_total", "llm_d_epp_flow_control_queue_size", "inference_extension_flow_control_queue_bytes",
		"llm_d_epp_flow_control_request_queue_duration_seconds", "inference_extension_flow_control_request_enqueue_duration_seconds",
		"llm_d_epp_flow_control_revocations_issued_total", "llm_d_epp_flow_control_revocations_total", "llm_d_epp_flow_control_pending_reclaim",
		"llm_d_epp_flow_control_revocation_confirmation_seconds", "llm_d_epp_flow_control_pool_saturation",
		"llm_d_epp_request_total", "inference_objective_request_total", "llm_d_epp_request_running", "inference_objective_running_requests",
		"llm_d_epp_request_size_bytes", "inference_objective_request_sizes", "llm_d_epp_ready_endpoints", "llm_d_epp_info",
		"inference_pool_per_pod_queue_size",
	} {
		want := seriesOf(real[name])
		for series, n := range want {
			if ours[name][series] != n {
				t.Errorf("%s{%s}: got %v, want %v", name, series, ours[name][series], n)
			}
		}
		if len(ours[name]) != len(want) {
			t.Errorf("%s: got %d series, want %d: %v", name, len(ours[name]), len(want), ours[name])
		}
	}
}

// replayMetrics replays a case and adds what was on the page beside it: two bad
// bodies that warmed the process, and the usage of an answer.
func replayMetrics(t *testing.T, name string) *replay {
	t.Helper()
	text, err := os.ReadFile("testdata/cases/" + name + ".json")
	if os.IsNotExist(err) {
		// Of the admission page only the page was kept.
		text = []byte(admissionCase)
	} else if err != nil {
		t.Fatal(err)
	}
	c, err := decodeRecording(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := play(c, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const admissionCase = `{"name": "metrics-admission", "endpoints": 2, "end_ms": 500, "objectives": {"interactive": 100, "batch": -1},
"config": "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n- type: max-score-picker\n- type: inflight-load-producer\n- name: sat\n  type: concurrency-detector\n  parameters: {maxConcurrency: 1}\nschedulingProfiles:\n- name: default\n  plugins:\n  - {pluginRef: max-score-picker}\nflowControl:\n  saturationDetector: {pluginRef: sat}\n",
"events": [
{"t_ms": 0, "op": "arrive", "id": "b1", "objective": "batch", "stream": true},
{"t_ms": 20, "op": "arrive", "id": "b2", "objective": "batch"},
{"t_ms": 40, "op": "arrive", "id": "b3", "objective": "batch"},
{"t_ms": 60, "op": "arrive", "id": "x", "objective": "batch", "body": "not json"},
{"t_ms": 100, "op": "first_chunk", "id": "b1"},
{"t_ms": 200, "op": "finish", "id": "b1"},
{"t_ms": 220, "op": "finish", "id": "b2"}]}`

func readPage(t *testing.T, path string) map[string]*dto.MetricFamily {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(f)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func labelNames(m *dto.Metric) (names []string) {
	for _, l := range m.Label {
		names = append(names, l.GetName())
	}
	return names
}

func bounds(m *dto.Metric) (list []float64) {
	for _, b := range m.GetHistogram().GetBucket() {
		list = append(list, b.GetUpperBound())
	}
	return list
}

// seriesOf counts observations of histograms and takes values of the others.
func seriesOf(f *dto.MetricFamily) map[string]float64 {
	series := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.Label {
			labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		key := strings.Join(labels, ",")
		series[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return series
}
