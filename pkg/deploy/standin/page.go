package standin

import (
	"context"
	"net/http"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"bgbench/pkg/sim/router"
)

// scrapeEvery is how old a page may be. The real endpoint picker reads every 50 ms, at
// a cost that a machine of two cores would rather not pay.
const scrapeEvery = 100 * time.Millisecond

// pages are the metrics pages of model servers, each read in the background.
type pages struct {
	ctx    context.Context
	client *http.Client
	mu     sync.Mutex
	byURL  map[string]*page
}

func newPages(ctx context.Context) *pages {
	return &pages{ctx: ctx, client: client(), byURL: map[string]*page{}}
}

// of is the page of a server, which is read from now on.
func (p *pages) of(url string) *page {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.byURL[url]; ok {
		return known
	}
	page := &page{url: url + "/metrics"}
	p.byURL[url] = page
	go page.read(p.ctx, p.client)
	return page
}

// page is the last that was read of one server.
type page struct {
	url      string
	mu       sync.Mutex
	families map[string]*dto.MetricFamily
	failed   bool
}

func (p *page) read(ctx context.Context, client *http.Client) {
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for {
		families, err := scrape(ctx, client, p.url)
		p.mu.Lock()
		p.failed = err != nil
		if err == nil {
			p.families = families
		}
		p.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func scrape(ctx context.Context, client *http.Client, url string) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// Gather implements the async processor's view of a page.
func (p *page) Gather() []*dto.MetricFamily {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*dto.MetricFamily, 0, len(p.families))
	for _, f := range p.families {
		list = append(list, f)
	}
	return list
}

// load is the router's view of it.
func (p *page) load() router.Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	value := func(name string) float64 {
		f := p.families[name]
		if f == nil || len(f.Metric) == 0 {
			return 0
		}
		return f.Metric[0].GetGauge().GetValue()
	}
	return router.Page{
		Failed:  p.failed || p.families == nil,
		Waiting: int(value("vllm:num_requests_waiting")),
		Running: int(value("vllm:num_requests_running")),
		KVUsage: value("vllm:kv_cache_usage_perc"),
	}
}
