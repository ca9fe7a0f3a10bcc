package serve

import (
	"bytes"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
)

// MetricsHandler serves r as a /metrics page in the format that the scraper asks for.
func MetricsHandler(k *kernel.Kernel, r *metric.Registry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		gathered := make(chan []*dto.MetricFamily, 1)
		k.Post(func() { gathered <- r.Gather() })
		var families []*dto.MetricFamily
		select {
		case families = <-gathered:
		case <-req.Context().Done():
			return
		}
		format := expfmt.NegotiateAccept(req.Header, expfmt.DefaultAcceptedFormats()...)
		var page bytes.Buffer
		encoder := expfmt.NewEncoder(&page, format)
		for _, mf := range families {
			if err := encoder.Encode(mf); err != nil {
				http.Error(w, "encoding metrics: "+err.Error(), http.StatusInternalServerError)
				return
			}
		}
		w.Header().Set("Content-Type", string(format))
		w.Write(page.Bytes()) // an error here means that the scraper has gone
	})
}
