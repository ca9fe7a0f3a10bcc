package analysis

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"bgbench/pkg/stats"
)

// The servers' own histogram of the time to first token.
const (
	metricTTFTBucket = "vllm:time_to_first_token_seconds_bucket"
	metricTTFTSum    = "vllm:time_to_first_token_seconds_sum"
	metricTTFTCount  = "vllm:time_to_first_token_seconds_count"
)

// TTFTAgreement holds the clients' times to first token against the servers' histogram,
// over the whole run and all classes. The clients' are the longer ones: they have the
// network and the router's queue in them.
type TTFTAgreement struct {
	Clients Value `json:"client_requests"` // rows with a first token
	Servers Value `json:"server_requests"` // that the histograms counted
	// MeanDifferenceS is the clients' mean less the servers'. It and Quantiles have no
	// value where the two did not count the same requests.
	MeanDifferenceS Value               `json:"mean_difference_s"`
	Quantiles       []QuantileAgreement `json:"quantiles"` // the clients' against the servers' buckets
}

// QuantileAgreement is one quantile as both have it. Of the servers' only the bucket is
// known; DifferenceS is how far the clients' lies outside, 0 within.
type QuantileAgreement struct {
	P           float64 `json:"p"`             // 0.5, 0.95 or 0.99
	ClientS     Value   `json:"client_s"`      // the clients' quantile
	ServerLowS  Value   `json:"server_low_s"`  // lower bound of the servers' bucket
	ServerHighS Value   `json:"server_high_s"` // null in the last bucket, which has no end
	DifferenceS Value   `json:"difference_s"`  // how far the clients' lies outside it
}

// sameRequests is by what share of the servers' the two counts may differ: requests
// that were under way at the last scrape.
const sameRequests = 0.01

// histogram is by how much a classic histogram grew: cumulative counts of all sources.
type histogram struct {
	bounds     []float64 // rising, +Inf last
	cumulative []float64
	sum, count float64
}

// bucket returns the bounds between which the p-quantile lies.
func (h histogram) bucket(p float64) (low, high float64) {
	i := slices.IndexFunc(h.cumulative, func(c float64) bool { return c >= p*h.count })
	if i < 0 {
		i = len(h.bounds) - 1
	}
	if i > 0 {
		low = h.bounds[i-1]
	}
	return low, h.bounds[i]
}

// ttftAgreement compares the clients' times with the histogram.
func ttftAgreement(clients rising, servers histogram) TTFTAgreement {
	a := TTFTAgreement{
		Clients: measured(float64(len(clients)), len(clients)), Servers: measured(servers.count, len(servers.bounds)),
		Quantiles: []QuantileAgreement{},
	}
	apart := math.Abs(float64(len(clients)) - servers.count)
	switch {
	case len(clients) == 0:
		a.MeanDifferenceS = missing(0, "no request had a first token")
	case apart > max(1, sameRequests*servers.count):
		a.MeanDifferenceS = missing(len(clients),
			"the servers counted %.0f requests and the clients %d: the Batch API does not show first tokens", servers.count, len(clients))
	default:
		a.MeanDifferenceS = measured(clients.sum()/float64(len(clients))-servers.sum/servers.count, len(clients))
		for _, p := range []float64{0.5, 0.95, 0.99} {
			a.Quantiles = append(a.Quantiles, quantileAgreement(p, clients, servers))
		}
	}
	return a
}

func quantileAgreement(p float64, clients rising, servers histogram) QuantileAgreement {
	n := len(clients)
	client := stats.QuantileAt(n, p, clients.at)
	low, high := servers.bucket(p)
	q := QuantileAgreement{
		P: p, ClientS: measured(client, n), ServerLowS: measured(low, n), ServerHighS: measured(high, n), DifferenceS: measured(0, n),
	}
	if math.IsInf(high, 1) {
		q.ServerHighS = missing(n, "the bucket has no upper bound")
	}
	switch {
	case client < low:
		q.DifferenceS = measured(client-low, n)
	case client > high:
		q.DifferenceS = measured(client-high, n)
	}
	return q
}

// agreement is that of the cell.
func (c *cell) agreement() TTFTAgreement {
	counts := c.tracks(metricTTFTCount)
	var clients sample
	clients.include(&c.rows.ttfts)
	for _, p := range c.rows.phases {
		clients.include(&p.ttft)
	}
	if len(counts) == 0 || c.start.IsZero() {
		none := c.absent(metricTTFTCount)
		return TTFTAgreement{Clients: measured(float64(clients.n), clients.n), Servers: none, MeanDifferenceS: none, Quantiles: []QuantileAgreement{}}
	}
	return ttftAgreement(clients.sorted(), histogramOf(c.tracks(metricTTFTBucket), c.tracks(metricTTFTSum), counts, []span{wholeRun}))
}

// histogramOf adds up by how much the series of all sources grew in some stretches.
func histogramOf(buckets, sums, counts []track, in []span) histogram {
	var h histogram
	grown := map[float64]float64{math.Inf(1): 0}
	for _, stretch := range in {
		h.sum += rises(sums, stretch)
		h.count += rises(counts, stretch)
		for _, t := range buckets {
			if bound, err := strconv.ParseFloat(t.labels["le"], 64); err == nil {
				grown[bound] += t.rise(stretch)
			}
		}
	}
	grown[math.Inf(1)] = cmp.Or(grown[math.Inf(1)], h.count)
	for bound := range grown {
		h.bounds = append(h.bounds, bound)
	}
	slices.Sort(h.bounds)
	for _, bound := range h.bounds {
		h.cumulative = append(h.cumulative, grown[bound])
	}
	return h
}
