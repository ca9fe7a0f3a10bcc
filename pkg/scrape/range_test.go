package scrape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// fakeServer answers as the API of a Prometheus server; answer returns status and body.
func fakeServer(answer func(path string, form url.Values) (int, string)) *http.Client {
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		status, body := http.StatusOK, `{"status":"success","data":{"vllm:prompt_tokens_total":[{"type":"counter"}],"h":[{"type":"histogram"}]}}`
		if path != "metadata" {
			status, body = answer(path, r.Form)
		}
		if status == 0 {
			return nil, errors.New(body)
		}
		return &http.Response{StatusCode: status, Status: strconv.Itoa(status), Header: http.Header{}, Body: readCloser(body), Request: r}, nil
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func readCloser(s string) *bodyOf { return &bodyOf{strings.NewReader(s)} }

type bodyOf struct{ *strings.Reader }

func (*bodyOf) Close() error { return nil }

// matrix writes an answer; streams are JSON.
func matrix(streams ...string) string {
	return `{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(streams, ",") + `]}}`
}

func second(n float64) time.Time { return time.UnixMilli(int64(n * 1000)).UTC() }

// rangeRows asks a fake server and shows metric, canonical name, source, type, labels,
// value and second.
func rangeRows(ctx context.Context, cfg RangeConfig) (string, RangeReport, error) {
	var b strings.Builder
	cfg.URL = "http://prometheus"
	if cfg.Step == 0 {
		cfg.Step = time.Second
	}
	if cfg.Chunk == 0 {
		cfg.Chunk = time.Hour
	}
	cfg.Write = func(rows []record.Sample) error {
		for _, r := range rows {
			fmt.Fprintf(&b, "%s %s %s %s %s %v @%v\n", r.Metric, r.Canonical, r.Source, r.Type, r.Labels, r.Value, float64(r.At.UnixMilli())/1000)
		}
		return nil
	}
	report, err := Range(ctx, cfg)
	return b.String(), report, err
}

func TestRawSamplesComeFromSelectorsOverChunksThatTouch(t *testing.T) {
	var asked []string
	client := fakeServer(func(path string, form url.Values) (int, string) {
		asked = append(asked, path+" "+form.Get("query")+" @"+form.Get("time"))
		return 200, matrix()
	})
	_, report, err := rangeRows(t.Context(), RangeConfig{
		Client: client, Start: second(100), End: second(125), Chunk: 10 * time.Second, Selectors: []Selector{{Quantity{"up", true}, `{__name__=~"up"}`}},
	})
	want := []string{
		`query {__name__=~"up"}[10000ms] @109.999`, `query {__name__=~"up"}[10000ms] @119.999`, `query {__name__=~"up"}[5001ms] @125`,
	}
	if err != nil || fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("found %v and asked\n%s\nexpected\n%s", err, strings.Join(asked, "\n"), strings.Join(want, "\n"))
	}
	if fmt.Sprint(report.Warnings) != `[no samples of up: the server has none of {__name__=~"up"}]` {
		t.Errorf("found warnings %v", report.Warnings)
	}
}

func TestSeriesOfAServerBecomeRows(t *testing.T) {
	answer := matrix(
		`{"metric":{"__name__":"vllm:prompt_tokens_total","instance":"10.0.0.1:8000","pod":"p"},"values":[[99.999,"1"],[100.25,"2"],[101.25,"NaN"]]}`,
		`{"metric":{"__name__":"vllm:gpu_cache_usage_perc","instance":"other:1"},"values":[[100,"+Inf"]]}`,
		`{"metric":{"__name__":"inference_pool_ready_pods","pod":"epp"},"values":[[100,"1"]]}`,
		`{"metric":{"__name__":"llm_d_epp_ready_endpoints","pod":"epp"},"values":[[100,"1"]]}`,
		`{"metric":{"__name__":"vllm:time_per_output_token_seconds_bucket","job":"j","le":"1.0"},"values":[[100,"3"]]}`,
		`{"metric":{"__name__":"h","a":"b"},"histograms":[[100,{"count":"6","sum":"9.5","buckets":[[0,"0.5","1","2"],[0,"1","2.0000000000000004","3"]]}]]}`)
	got, _, err := rangeRows(t.Context(), RangeConfig{
		Client: fakeServer(func(string, url.Values) (int, string) { return 200, answer }),
		Start:  second(100), End: second(110), Selectors: []Selector{{PromQL: "{}"}}, Sources: map[string]string{"10.0.0.1:8000": "vllm-0"},
	})
	want := `vllm:prompt_tokens_total vllm:prompt_tokens_total vllm-0 counter {"instance":"10.0.0.1:8000","pod":"p"} 2 @100.25
vllm:prompt_tokens_total vllm:prompt_tokens_total vllm-0 counter {"instance":"10.0.0.1:8000","pod":"p"} NaN @101.25
vllm:gpu_cache_usage_perc vllm:kv_cache_usage_perc other:1 untyped {"instance":"other:1"} +Inf @100
inference_pool_ready_pods inference_pool_ready_pods epp untyped {"pod":"epp"} 1 @100
llm_d_epp_ready_endpoints llm_d_epp_ready_endpoints epp untyped {"pod":"epp"} 1 @100
vllm:time_per_output_token_seconds_bucket vllm:inter_token_latency_seconds_bucket j histogram {"job":"j","le":"1"} 3 @100
h_bucket h_bucket prometheus histogram {"a":"b","le":"1"} 2 @100
h_bucket h_bucket prometheus histogram {"a":"b","le":"2"} 5 @100
h_bucket h_bucket prometheus histogram {"a":"b","le":"+Inf"} 6 @100
h_sum h_sum prometheus histogram {"a":"b"} 9.5 @100
h_count h_count prometheus histogram {"a":"b"} 6 @100
`
	if err != nil || got != want {
		t.Errorf("found %v and\n%sexpected\n%s", err, got, want)
	}
}

func TestDerivedValuesComeOnOneGridWhateverItsLength(t *testing.T) {
	var asked []string
	client := fakeServer(func(path string, form url.Values) (int, string) {
		asked = append(asked, path+" "+form.Get("query")+" "+form.Get("start")+" "+form.Get("end")+" "+form.Get("step"))
		return 200, matrix(`{"metric":{"engine":"0"},"values":[[` + form.Get("start") + `,"7"]]}`)
	})
	got, _, err := rangeRows(t.Context(), RangeConfig{
		Client: client, Start: second(0), End: second(11001.5), Queries: []Query{{"kv", "avg(x)"}},
	})
	want := []string{"query_range avg(x) 0 11000 1", "query_range avg(x) 11001 11001.5 1"}
	if err != nil || fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("found %v and asked %q, expected %q", err, asked, want)
	}
	if rows := "kv kv prometheus derived {\"engine\":\"0\"} 7 @0\nkv kv prometheus derived {\"engine\":\"0\"} 7 @11001\n"; got != rows {
		t.Errorf("found\n%sexpected\n%s", got, rows)
	}
}

func TestWhatMayPassIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		asked  int
		want   string
	}{
		{"no answer", 0, "connection reset", attempts, "asked 5 times in vain, the last time: Post \"http://prometheus/api/v1/query\": connection reset"},
		{"a proxy without its server", 502, "bad gateway", attempts, "asked 5 times in vain, the last time: server_error: server error: 502"},
		{"too many requests", 429, "slow down", attempts, "client_error: client error: 429"},
		{"a query that is none", 400, `{"status":"error","errorType":"bad_data","error":"parse error"}`, 1, "x: bad_data: parse error"},
		{"nobody let in", 401, "who are you", 1, "client_error: client error: 401"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				client := fakeServer(func(string, url.Values) (int, string) { asked++; return c.status, c.body })
				_, _, err := rangeRows(t.Context(), RangeConfig{Client: client, Start: second(1), End: second(2), Selectors: []Selector{{PromQL: "x"}}})
				if err == nil || !strings.Contains(err.Error(), c.want) || asked != c.asked {
					t.Errorf("found %v after %d questions, expected %s after %d", err, asked, c.want, c.asked)
				}
			})
		})
	}
}

func TestServerThatRecoversLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		client := fakeServer(func(string, url.Values) (int, string) {
			if asked++; asked < attempts {
				return 503, ""
			}
			body := matrix(`{"metric":{"__name__":"x"},"values":[[1,"1"]]}`)
			return 200, strings.TrimSuffix(body, "}") + `,"warnings":["store is down"],"infos":["no counter"]}`
		})
		got, report, err := rangeRows(t.Context(), RangeConfig{Client: client, Start: second(1), End: second(2), Selectors: []Selector{{PromQL: "x"}}})
		if err != nil || got != "x x prometheus untyped {} 1 @1\n" {
			t.Errorf("found %v and %s", err, got)
		}
		if fmt.Sprint(report.Warnings) != "[the server: store is down the server: no counter]" {
			t.Errorf("found warnings %q", report.Warnings)
		}
	})
}

func TestChunkThatIsTooMuchForTheServerIsHalved(t *testing.T) {
	var asked []string
	client := fakeServer(func(_ string, form url.Values) (int, string) {
		asked = append(asked, form.Get("query")+" @"+form.Get("time"))
		if strings.Contains(form.Get("query"), "[10001ms]") {
			return 422, `{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`
		}
		return 200, matrix()
	})
	_, _, err := rangeRows(t.Context(), RangeConfig{Client: client, Start: second(0), End: second(10), Selectors: []Selector{{PromQL: "x"}}})
	if want := "[x[10001ms] @10 x[5001ms] @5 x[5000ms] @10]"; err != nil || fmt.Sprint(asked) != want {
		t.Errorf("found %v and asked %v, expected %s", err, asked, want)
	}
}

func TestSelectorsAreNarrowed(t *testing.T) {
	filter := Filter{Namespace: "a\"b", Pod: "vllm-.*"}
	for _, c := range []struct {
		filter        Filter
		selector, got string
	}{
		{filter, "up", `up{namespace="a\"b",pod=~"vllm-.*"}`},
		{filter, ` vllm:x{job="a,}", } `, `vllm:x{job="a,}",namespace="a\"b",pod=~"vllm-.*"}`},
		{filter, "{}", `{namespace="a\"b",pod=~"vllm-.*"}`},
		{Filter{}, "up", "up{}"},
		{Filter{}, `{__name__="up"}`, `{__name__="up"}`},
	} {
		s, err := c.filter.Match(c.selector)
		if err != nil || s.PromQL != c.got {
			t.Errorf("%s: found %s and %v, expected %s", c.selector, s.PromQL, err, c.got)
		}
	}
	for _, selector := range []string{"", "up[5m]", "rate(up[5m])", "up{", `up{a="b}`, "up} or {}", "up{} or on() vector(1)", "a b{}"} {
		if s, err := filter.Match(selector); err == nil {
			t.Errorf("%s was taken for %s", selector, s.PromQL)
		}
	}
	want := `{__name__=~"vllm:inter_token_latency_seconds_bucket|vllm:time_per_output_token_seconds_bucket",namespace="n"}`
	if s := (Filter{Namespace: "n"}).Selector(Quantity{Name: "vllm:inter_token_latency_seconds_bucket"}); s.PromQL != want {
		t.Errorf("found %s, expected %s", s.PromQL, want)
	}
}

func TestEveryWantedQuantityHasItsCanonicalName(t *testing.T) {
	all := Wanted(spec.Arm{
		Dispatch: spec.DispatchSync, Gateway: spec.Gateway{Concurrency: spec.Concurrency{AIMD: spec.AIMD{Enabled: true}}},
		Router: spec.Router{Kind: spec.RouterEPP, FlowControl: true, Eviction: true},
	})
	for _, q := range all {
		family, suffix := splitEnding(q.Name)
		if got := renamed.canonical(family, false) + suffix; got != q.Name {
			t.Errorf("%s: the canonical name is %s", q.Name, got)
		}
	}
	alone := Wanted(spec.Arm{Dispatch: spec.DispatchNone, Router: spec.Router{Kind: spec.RouterRoundRobin}})
	if len(all) < 28 || len(alone) != 16 {
		t.Errorf("found %d quantities of an arm with everything and %d of one with nothing, expected 28 or more and 16", len(all), len(alone))
	}
	async := Wanted(spec.Arm{Dispatch: spec.DispatchAsync})
	if text, _ := json.Marshal(async); !strings.Contains(string(text), "llm_d_async_async_dispatch_budget") {
		t.Errorf("async: found %s", text)
	}
}
