package scrape

import (
	"bytes"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"bgbench/pkg/record"
)

// page makes rows of the pages of an endpoint, in whatever format they come.
type page struct {
	classic *Page
	known   knownText
	text    *textPage
	body    bytes.Buffer    // of the last page
	rows    []record.Sample // of the last page
}

func newPage(source string, base record.Sample) *page {
	base.Source = source
	return &page{classic: NewPage(source, base), text: newTextPage(base)}
}

// read takes the rows of the page in body, or none of a broken one.
func (p *page) read(header http.Header, at time.Time) (err error) {
	format := expfmt.ResponseFormat(header).FormatType()
	if isOpenMetrics(header) {
		if p.rows, err = p.text.append(p.rows[:0], p.body.Bytes(), at); err != nil {
			p.rows = p.rows[:0]
		}
		return err
	}
	var known bool
	if format == expfmt.TypeTextPlain {
		if p.rows, known = p.known.read(p.rows[:0], p.body.Bytes(), at); known {
			return nil
		}
	}
	families, err := parse(header, p.body.Bytes())
	if err != nil {
		p.rows = p.rows[:0]
		return err
	}
	p.rows = p.classic.Append(p.rows[:0], families, at)
	if format == expfmt.TypeTextPlain {
		p.known.learn(p.body.Bytes(), p.rows)
	}
	return nil
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
