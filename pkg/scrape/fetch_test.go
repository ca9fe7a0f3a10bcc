package scrape

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"bgbench/pkg/record"
)

func encodeText(t *testing.T, families []*dto.MetricFamily) string {
	t.Helper()
	return string(encodeAs(t, families, expfmt.NewFormat(expfmt.TypeTextPlain)))
}

func encodeAs(t *testing.T, families []*dto.MetricFamily, format expfmt.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := expfmt.NewEncoder(&b, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestServersAreAskedForProtobufThenTextAndMayAnswerWithOpenMetrics(t *testing.T) {
	families := textFamilies(t, "# TYPE a gauge\na 1\n# TYPE b_total counter\nb_total{a=\"1\",z=\"q\\\"\\n\\\\\"} 2\n"+
		"# TYPE vllm:time_per_output_token_seconds histogram\nvllm:time_per_output_token_seconds_bucket{le=\"0.5\"} 2\n"+
		"vllm:time_per_output_token_seconds_bucket{le=\"+Inf\"} 3\nvllm:time_per_output_token_seconds_sum 4.5\nvllm:time_per_output_token_seconds_count 3\n"+
		"# TYPE s summary\ns{quantile=\"0.5\"} NaN\ns_sum 0\ns_count 0\nx +Inf\n")
	var found []expfmt.FormatType
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		switch r.URL.Path {
		case "/text": // knows no protobuf, as the Python client
			format = expfmt.NewFormat(expfmt.TypeTextPlain)
		case "/openmetrics": // knows nothing else
			format = expfmt.NewFormat(expfmt.TypeOpenMetrics)
		}
		found = append(found, format.FormatType())
		w.Header().Set("Content-Type", string(format))
		w.Write(encodeAs(t, families, format))
		if r.URL.Path == "/openmetrics" {
			w.Write([]byte("# EOF\n"))
		}
	}))
	defer server.Close()
	want := show(samples(families, "s", at, record.Sample{}))
	for _, path := range []string{"/", "/text", "/openmetrics"} {
		page := newPage("s", record.Sample{})
		for range 2 {
			header, err := fetch(t.Context(), server.Client(), server.URL+path, &page.body)
			if err == nil {
				err = page.read(header, at)
			}
			if err != nil {
				t.Fatal(err)
			}
			if rows := show(page.rows); rows != want {
				t.Errorf("%s: got:\n%swant:\n%s", path, rows, want)
			}
			for _, row := range page.rows {
				if row.SeriesID != seriesID("s", row.Metric, row.Labels) || row.At != at {
					t.Errorf("%s: found %+v", path, row)
				}
			}
		}
	}
	if len(found) != 6 || found[0] != expfmt.TypeProtoDelim || found[2] != expfmt.TypeTextPlain {
		t.Errorf("formats %v", found)
	}
}

func TestEndpointThatNeedsATokenIsDownWithoutIt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer letmein" {
			http.Error(w, "no", http.StatusUnauthorized)
		}
		w.Header().Set("Content-Type", "text/plain")
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("letmein\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := Access{BearerTokenFile: token}.Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(t.Context(), client, server.URL, new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
	if _, err := fetch(t.Context(), server.Client(), server.URL, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "found status 401 Unauthorized") {
		t.Errorf("found %v", err)
	}
}

func TestPagesThatAreNoneAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		want                    string
	}{
		{"an error page", "text/plain", "no", 503, "found status 503 Service Unavailable, expected 200 OK"},
		{"OpenMetrics without its end", "application/openmetrics-text; version=1.0.0", "a 1\n", 200, "line 2: found the end, expected # EOF (is it whole?)"},
		{"HTML", "text/html", "<html>", 200, `found content type "text/html"`},
		{"a broken line", "text/plain", "x one\n", 200, "line 1: expected float as value"},
		{"broken protobuf", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", "\x05ab", 200, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			defer server.Close()
			page := newPage("s", record.Sample{})
			header, err := fetch(t.Context(), server.Client(), server.URL, &page.body)
			if err == nil {
				err = page.read(header, at)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found error %v, expected %s", err, c.want)
			}
		})
	}
}
