package analysis

import (
	"math"
	"strings"
	"testing"
)

func TestClientsAreHeldAgainstTheServersHistogram(t *testing.T) {
	// 60 requests of 0.1 s, 36 of 0.4 s and 4 of 3 s at the servers.
	servers := histogram{
		bounds: []float64{0.25, 0.5, 1, math.Inf(1)}, cumulative: []float64{60, 96, 96, 100}, sum: 60*0.1 + 36*0.4 + 4*3, count: 100,
	}
	clients := func(more float64, n int) (out []float64) {
		for i := range n {
			switch {
			case i < 60:
				out = append(out, 0.1+more)
			case i < 96:
				out = append(out, 0.4+more)
			default:
				out = append(out, 3+more)
			}
		}
		return out
	}
	for _, c := range []struct {
		name    string
		clients []float64
		mean    float64
		beyond  [3]float64 // p50, p95, p99
		reason  string
	}{
		{"the same times", clients(0, 100), 0, [3]float64{}, ""},
		{"a network that takes longer than the bucket is wide", clients(0.2, 100), 0.2, [3]float64{0.05, 0.1, 0}, ""},
		{"clients that are faster than their servers", clients(-0.2, 100), -0.2, [3]float64{-0.1, -0.05, 0}, ""},
		{"one request that was under way at the last scrape", clients(0, 101), (60*0.1+36*0.4+5*3)/101 - 0.324, [3]float64{}, ""},
		{"requests that no client sees", clients(0, 60), 0, [3]float64{}, "the servers counted 100 requests and the clients 60: the Batch API does not show first tokens"},
		{"no client", nil, 0, [3]float64{}, "no request had a first token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ttftAgreement(sampleOf(c.clients).sorted(), servers)
			if a.MeanDifferenceS.Reason != c.reason {
				t.Fatalf("found reason %q, expected %q", a.MeanDifferenceS.Reason, c.reason)
			}
			if c.reason != "" {
				if a.MeanDifferenceS.Value != nil || len(a.Quantiles) > 0 {
					t.Errorf("found %+v, expected no differences", a)
				}
				return
			}
			if got := *a.MeanDifferenceS.Value; math.Abs(got-c.mean) > 1e-12 {
				t.Errorf("mean: found %v, expected %v", got, c.mean)
			}
			for i, q := range a.Quantiles {
				if got := *q.DifferenceS.Value; math.Abs(got-c.beyond[i]) > 1e-12 {
					t.Errorf("p%v: found %v, expected %v", q.P*100, got, c.beyond[i])
				}
			}
			if last := a.Quantiles[2]; *last.ServerLowS.Value != 1 || last.ServerHighS.Value != nil {
				t.Errorf("p99: found the bucket %+v, expected 1 s without an end", last)
			}
		})
	}
}

func TestHistogramsOfAllServersAreAddedUp(t *testing.T) {
	series := func(source, le string, values ...float64) track {
		return track{source: source, labels: map[string]string{"le": le}, at: []float64{0, 1, 2}, values: values}
	}
	h := histogramOf(
		[]track{
			series("vllm-0", "0.5", 1, 2, 3), series("vllm-0", "+Inf", 1, 3, 5),
			series("vllm-1", "0.5", 7, 8, 1), series("vllm-1", "+Inf", 7, 9, 2), // restarted
		},
		[]track{series("vllm-0", "", 1, 2, 4)}, []track{series("vllm-0", "", 1, 3, 5), series("vllm-1", "", 7, 9, 2)},
		[]span{wholeRun})
	if h.count != 8 || h.sum != 3 || h.bounds[0] != 0.5 || h.cumulative[0] != 4 || h.cumulative[1] != 8 {
		t.Errorf("found %+v, expected 4 of 8 requests up to 0.5 s", h)
	}
}

func TestAgreementWithoutMetricsSaysSo(t *testing.T) {
	c := &cell{rows: newRows()}
	if a := c.agreement(); a.MeanDifferenceS.Value != nil || !strings.Contains(a.MeanDifferenceS.Reason, "the schedule never started") {
		t.Errorf("found %+v", a)
	}
}

func TestTheTableHoldsClientsAgainstServers(t *testing.T) {
	clients := sampleOf([]float64{0.2, 0.3, 0.4, 0.6}).sorted()
	servers := histogram{bounds: []float64{0.25, 0.5, math.Inf(1)}, cumulative: []float64{1, 3, 4}, sum: 1.46, count: 4}
	for _, c := range []struct {
		name string
		a    TTFTAgreement
		want []string
	}{
		{"the same requests", ttftAgreement(clients, servers), []string{
			"requests  4        4", "mean      -        -                    10.0ms", "p50       350.0ms  250.0ms to 500.0ms   0.0ms", "p99       594.0ms  500.0ms to no bound  0.0ms",
		}},
		{"requests that clients do not see", ttftAgreement(clients[:1], servers), []string{
			"requests  1        4", "TTFT of clients and servers: the servers counted 4 requests and the clients 1: the Batch API does not show first tokens",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if err := WriteTable(&out, CellResult{Agreement: c.a}); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("found\n%s\nexpected %q", out.String(), want)
				}
			}
		})
	}
	var out strings.Builder
	none := missing(0, "no such metric")
	if err := WriteTable(&out, CellResult{Agreement: TTFTAgreement{Clients: measured(4, 4), Servers: none, MeanDifferenceS: none}}); err != nil || strings.Contains(out.String(), "TTFT OF") {
		t.Errorf("%v: without the servers' histogram the table has\n%s", err, out.String())
	}
}
