package scrape

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"bgbench/pkg/record"
)

// exposition is a /metrics page: families, or OpenMetrics text.
type exposition struct {
	families    []*dto.MetricFamily
	openMetrics []byte
}

// page makes rows of the pages of an endpoint, in whatever format they come.
type page struct {
	classic *Page
	text    *textPage
	rows    []record.Sample // of the last page
}

func newPage(source string, base record.Sample) *page {
	base.Source = source
	return &page{classic: NewPage(source, base), text: newTextPage(base)}
}

// read takes the rows of a page, or none of a broken one.
func (p *page) read(from exposition, at time.Time) error {
	if from.openMetrics == nil {
		p.rows = p.classic.Append(p.rows[:0], from.families, at)
		return nil
	}
	var err error
	if p.rows, err = p.text.append(p.rows[:0], from.openMetrics, at); err != nil {
		p.rows = p.rows[:0]
	}
	return err
}

// scrapeResult is what is known of a scrape beside its page.
type scrapeResult struct {
	at     time.Time
	took   time.Duration
	up     bool
	missed int // instants so far at which the endpoint was not asked
}

// about adds the rows that Prometheus, too, has of a scrape, and one that says how
// often the endpoint was not asked: a gap in its series is then no outage. It returns
// them with those of the page, until the next one is read.
func (p *page) about(r scrapeResult) []record.Sample {
	if !r.up {
		p.rows = p.rows[:0]
	}
	scraped, missed, name := float64(len(p.rows)), float64(r.missed), "bg_scrape_missed_total"
	p.rows = p.classic.Up(p.rows, r.at, r.up, r.took)
	p.rows = p.classic.Append(p.rows, []*dto.MetricFamily{gauge("scrape_samples_scraped", scraped), {
		Name: &name, Type: dto.MetricType_COUNTER.Enum(), Metric: []*dto.Metric{{Counter: &dto.Counter{Value: &missed}}},
	}}, r.at)
	return p.rows
}
