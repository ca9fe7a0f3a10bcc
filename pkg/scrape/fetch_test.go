package scrape

import (
	"bytes"
	"net/http"
	"net/http/httptest"
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

func TestServersAreAskedForProtobufThenText(t *testing.T) {
	families := textFamilies(t, "# TYPE b counter\nb_total{a=\"1\"} 2\n# TYPE a gauge\na 1\n")
	var found []expfmt.FormatType
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		if r.URL.Path == "/text" { // knows no protobuf, as the Python client
			format = expfmt.NewFormat(expfmt.TypeTextPlain)
		}
		found = append(found, format.FormatType())
		w.Header().Set("Content-Type", string(format))
		w.Write(encodeAs(t, families, format))
	}))
	defer server.Close()
	want := show(samples(families, "s", at, record.Sample{}))
	for _, path := range []string{"/", "/text"} {
		got, err := fetch(t.Context(), server.Client(), server.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		if rows := show(samples(got, "s", at, record.Sample{})); rows != want {
			t.Errorf("%s: got:\n%swant:\n%s", path, rows, want)
		}
	}
	if len(found) != 2 || found[0] != expfmt.TypeProtoDelim || found[1] != expfmt.TypeTextPlain {
		t.Errorf("formats %v", found)
	}
}

func TestPagesThatAreNoneAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		want                    string
	}{
		{"an error page", "text/plain", "no", 503, "found status 503 Service Unavailable, expected 200 OK"},
		{"OpenMetrics", "application/openmetrics-text; version=1.0.0", "# EOF\n", 200, `found content type "application/openmetrics-text; version=1.0.0", expected Prometheus text`},
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
			_, err := fetch(t.Context(), server.Client(), server.URL)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found error %v, expected %s", err, c.want)
			}
		})
	}
}
