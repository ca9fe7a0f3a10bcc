package gateway

import (
	"net/http"
	"strconv"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
)

// passThrough picks from the headers of a batch's creation those that its inference
// requests carry too, nil when there are none.
func (g *Gateway) passThrough(header http.Header) http.Header {
	var passed http.Header
	for _, name := range g.cfg.PassThroughHeaders {
		if values := header.Values(name); len(values) > 0 {
			if passed == nil {
				passed = http.Header{}
			}
			passed[http.CanonicalHeaderKey(name)] = values[:1]
		}
	}
	return passed
}

// UpstreamHeader is the header that the processor's HTTP client (resty, on Go's)
// sends with call, but Host and Content-Length. In the model a request never is on a
// socket between gateway and router; this says what it would look like there.
func UpstreamHeader(call *sim.Call) http.Header {
	header := http.Header{}
	for name, values := range call.Passed {
		header[name] = values
	}
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	set("Accept", "application/json")
	set("Accept-Encoding", "gzip")
	set("Content-Type", "application/json")
	set("User-Agent", "go-resty/2.17.2 (https://github.com/go-resty/resty)")
	set(openai.HeaderRequestID, call.ID)
	set(openai.HeaderObjective, call.Objective)
	set(openai.HeaderFairnessID, call.FairnessID)
	if call.TTFTBudget > 0 {
		set("x-slo-ttft-ms", strconv.FormatInt(call.TTFTBudget.Milliseconds(), 10))
	}
	return header
}
