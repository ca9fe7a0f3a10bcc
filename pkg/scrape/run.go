package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
)

// Endpoint is a /metrics page and the component that it belongs to.
type Endpoint struct{ Source, URL string }

// Config says what Run scrapes.
type Config struct {
	Endpoints []Endpoint
	// Refresh, if set, is asked once an interval which endpoints there are now; false
	// stands for the same as before. New ones are scraped from then on, others no more.
	Refresh  func() ([]Endpoint, bool, error)
	Interval time.Duration
	Timeout  time.Duration // of one scrape; at most the interval, which 0 stands for
	Client   *http.Client
	Base     record.Sample // experiment, arm and trial of all rows
	// MustAnswer makes Run fail if no endpoint answers the first time.
	MustAnswer bool
	// Write takes the rows of a scrape. No two calls overlap.
	Write func([]record.Sample) error
	// Begun is called, if set, when the first round is written.
	Begun func()
}

// Health is how often an endpoint was asked, how often in vain, and why the last time.
type Health struct {
	Endpoint
	Scrapes, Failures int
	LastFailure       error
	// Missed counts the instants at which it was not asked, because the last question
	// or the writing of its answer took too long.
	Missed int
}

// Run scrapes all endpoints at once, then each of them at every interval since then,
// until ctx is done, which is no error. An endpoint that is late misses instants; none
// is caught up, and no other endpoint waits for it.
func Run(ctx context.Context, cfg Config) ([]Health, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &rounds{cfg: cfg, start: time.Now(), targets: make(map[Endpoint]*target), writing: make(chan struct{}, 1)}
	first, err := r.add(cfg.Endpoints)
	if err != nil {
		return nil, err
	}
	if err := r.firstRound(ctx, first); err != nil {
		return r.healths(), err
	}
	scraping, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.fail = stop
	for _, t := range first {
		r.begin(scraping, t)
	}
	r.watch(scraping)
	r.loops.Wait()
	if err := context.Cause(scraping); err != context.Cause(ctx) {
		return r.healths(), err
	}
	return r.healths(), nil
}

func (cfg *Config) check() error {
	if cfg.Interval <= 0 {
		return fmt.Errorf("found interval %s, expected more than 0", cfg.Interval)
	}
	if cfg.Timeout <= 0 || cfg.Timeout > cfg.Interval {
		cfg.Timeout = cfg.Interval
	}
	return nil
}

// rounds is a Run.
type rounds struct {
	cfg     Config
	start   time.Time
	loops   sync.WaitGroup
	fail    context.CancelCauseFunc
	targets map[Endpoint]*target // all that there ever were
	order   []*target

	writing chan struct{} // holds one token while rows are written
}

// target is an endpoint with what is known of it.
type target struct {
	Health
	page *page
	last int                // number of the instant of the last scrape
	stop context.CancelFunc // ends its loop
	done chan struct{}      // closed when the loop has ended; nil if there is none
}

// add makes targets of endpoints that there were not before and returns those that are
// not being scraped.
func (r *rounds) add(endpoints []Endpoint) ([]*target, error) {
	var idle []*target
	for _, e := range endpoints {
		t := r.targets[e]
		if t == nil {
			address, err := url.Parse(e.URL)
			if err != nil || address.Host == "" {
				return nil, fmt.Errorf("metrics endpoint %s: found URL %q, expected one like http://127.0.0.1:8000/metrics", e.Source, e.URL)
			}
			base := r.cfg.Base
			base.Instance = &address.Host
			t = &target{Health: Health{Endpoint: e}, page: newPage(e.Source, base), last: r.now()}
			r.targets[e] = t
			r.order = append(r.order, t)
		}
		if t.done == nil {
			idle = append(idle, t)
		}
	}
	return idle, nil
}

// firstRound scrapes all targets at the same time and writes their rows in their order.
func (r *rounds) firstRound(ctx context.Context, targets []*target) error {
	parts := make([][]record.Sample, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { parts[i] = r.cfg.scrape(ctx, t) })
	}
	all.Wait()
	if r.cfg.MustAnswer && ctx.Err() == nil {
		if err := noneAnswered(targets); err != nil {
			return err
		}
	}
	if err := r.cfg.Write(slices.Concat(parts...)); err != nil {
		return err
	}
	if r.cfg.Begun != nil {
		r.cfg.Begun()
	}
	return nil
}

// begin scrapes a target from the next instant on.
func (r *rounds) begin(ctx context.Context, t *target) {
	ctx, t.stop = context.WithCancel(ctx)
	done := make(chan struct{})
	t.done = done
	r.loops.Go(func() {
		defer close(done)
		for {
			next := max(r.next(), t.last+1)
			missed := next - t.last - 1
			if !sleepUntil(ctx, r.start.Add(time.Duration(next)*r.cfg.Interval)) {
				return
			}
			t.last = next
			t.Missed += missed
			rows := r.cfg.scrape(ctx, t)
			r.writing <- struct{}{}
			err := r.cfg.Write(rows)
			<-r.writing
			if err != nil {
				r.fail(err)
				return
			}
		}
	})
}

// next is the number of the instant that comes next. One that has just passed counts:
// a scrape that took its whole time ends a moment after it.
func (r *rounds) next() int {
	return int((time.Since(r.start)-r.cfg.Interval/10)/r.cfg.Interval) + 1
}

func (r *rounds) now() int { return int(time.Since(r.start) / r.cfg.Interval) }

// sleepUntil reports whether ctx is not done yet.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.NewTimer(time.Until(at))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return ctx.Err() == nil
	}
}

// watch follows the endpoints that come and go until ctx is done.
func (r *rounds) watch(ctx context.Context) {
	if r.cfg.Refresh == nil {
		<-ctx.Done()
		return
	}
	for last := 0; ; {
		last = max(last, r.now()) + 1
		if !sleepUntil(ctx, r.start.Add(time.Duration(last)*r.cfg.Interval-r.cfg.Interval/2)) {
			return
		}
		endpoints, changed, err := r.cfg.Refresh()
		if err == nil && changed {
			err = r.follow(ctx, endpoints)
		}
		if err != nil {
			r.fail(err)
			return
		}
	}
}

// follow ends the loops of targets that are gone and begins those of new ones.
func (r *rounds) follow(ctx context.Context, endpoints []Endpoint) error {
	for _, t := range r.order {
		if t.done != nil && !slices.Contains(endpoints, t.Endpoint) {
			t.stop()
			<-t.done
			t.done = nil
		} else if t.done == nil && slices.Contains(endpoints, t.Endpoint) {
			t.last = r.now() // what lies between was not missed
		}
	}
	idle, err := r.add(endpoints)
	for _, t := range idle {
		r.begin(ctx, t)
	}
	return err
}

// scrape returns the rows of one page, stamped with the instant of the question. A
// scrape that ended because Run was stopped says nothing about the endpoint.
func (cfg *Config) scrape(ctx context.Context, t *target) []record.Sample {
	limited, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	at := time.Now()
	header, err := fetch(limited, cfg.Client, t.URL, &t.page.body)
	took := time.Since(at)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	t.Scrapes++
	if err == nil {
		err = t.page.read(header, at)
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", cfg.Timeout)
		}
		t.Failures++
		t.LastFailure = err
	}
	return t.page.about(scrapeResult{at: at, took: took, up: err == nil, missed: t.Missed})
}

// noneAnswered is nil if one did.
func noneAnswered(targets []*target) error {
	var why []string
	for _, t := range targets {
		if t.Failures == 0 {
			return nil
		}
		why = append(why, fmt.Sprintf("%s at %s: %v", t.Source, t.URL, t.LastFailure))
	}
	return cli.WithHint(fmt.Errorf("no endpoint answered: %s", strings.Join(why, "; ")), "bg-deploy status STACK says what is up")
}

func (r *rounds) healths() []Health {
	out := make([]Health, len(r.order))
	for i, t := range r.order {
		out[i] = t.Health
	}
	return out
}

// Warnings says what went wrong with an endpoint, if anything did.
func (h Health) Warnings() []string {
	var out []string
	if h.Failures > 0 {
		out = append(out, fmt.Sprintf("%s at %s: %d of %d scrapes failed, the last one: %v", h.Source, h.URL, h.Failures, h.Scrapes, h.LastFailure))
	}
	if h.Missed > 0 {
		out = append(out, fmt.Sprintf("%s at %s: %d of %d scrapes left out, because the scraper was late", h.Source, h.URL, h.Missed, h.Missed+h.Scrapes))
	}
	return out
}

func warningsOf(healths []Health) []string {
	var out []string
	for _, h := range healths {
		out = append(out, h.Warnings()...)
	}
	return out
}
