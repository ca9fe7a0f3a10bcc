package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// processAge is for how long the recorded endpoint picker had run when a case
// began. It sets the phase of its clocks: the first scrape after 500 ms came at
// 240 ms.
const processAge = 260 * time.Millisecond

// replay plays a recording on the model.
type replay struct {
	c       *recording
	k       *kernel.Kernel
	r       *Router
	servers []*modelServer
	runs    map[string]*run
	byCall  map[*sim.Call]*run
	order   []*run // in the order of arrival
	samples []map[string]map[string]float64
	sent    int
}

// run is one request of a recording.
type run struct {
	id        string
	at        kernel.Time
	reply     sim.Reply // the router's, while it runs
	call      *sim.Call
	abort     func()
	server    *modelServer
	sentAt    kernel.Time
	place     int // in the order of dispatch, 0 when it was not
	started   bool
	aborted   bool
	abortedAt kernel.Time
	end       *sim.End
	endAt     kernel.Time
	endPlace  int
	replay    *replay
}

// play replays c once.
func play(c *recording, lag time.Duration, seed int64) (*replay, error) {
	flags, err := caseFlags(c.Flags)
	if err != nil {
		return nil, err
	}
	p := &replay{c: c, k: kernel.NewVirtual(), runs: map[string]*run{}, byCall: map[*sim.Call]*run{}}
	p.addServers(c.Endpoints)
	p.r, err = New(p.k, Config{
		EndpointPicker: c.Config,
		Flags:          flags,
		Objectives:     c.Objectives,
		// The recorded one found its endpoints in a file.
		FixedBands:    true,
		DispatchLag:   lag,
		SteadyScrapes: true,
		Pool:          "p",
		Seed:          seed,
	}, p.endpoints(c.Endpoints))
	if err != nil {
		return nil, err
	}
	for _, e := range c.Events {
		p.k.At(p.instant(e.MS), func() { p.event(e) })
	}
	p.k.At(p.instant(c.EndMS), p.k.Stop)
	if err := p.k.Run(context.Background()); err != nil && !errors.Is(err, kernel.ErrDeadlock) {
		return nil, err
	}
	return p, nil
}

func (p *replay) instant(ms float64) kernel.Time {
	return processAge + time.Duration(ms*float64(time.Millisecond))
}

// ms is the inverse of instant.
func (p *replay) ms(at kernel.Time) float64 {
	return float64(at-processAge) / float64(time.Millisecond)
}

func (p *replay) addServers(n int) {
	for i := len(p.servers); i < n; i++ {
		p.servers = append(p.servers, &modelServer{name: fmt.Sprintf("e%d", i), replay: p})
	}
}

func (p *replay) endpoints(n int) []Endpoint {
	p.addServers(n)
	var list []Endpoint
	for _, s := range p.servers[:n] {
		e := Endpoint{Name: s.name, Backend: s, Scrape: s.page}
		if p.c.ModelServer == "none" {
			e.Scrape = nil
		}
		list = append(list, e)
	}
	return list
}

func (p *replay) event(e recordedEvent) {
	switch e.Op {
	case "arrive":
		if e.Count == 0 {
			p.arrive(e, e.ID)
		}
		for i := range e.Count {
			p.arrive(e, fmt.Sprintf("%s%03d", e.ID, i))
		}
	case "first_chunk":
		if q := p.running(e.ID); q != nil {
			q.start()
		}
	case "finish":
		if q := p.running(e.ID); q != nil {
			q.finish(e.Status)
		}
	case "abort":
		if q := p.runs[e.ID]; q != nil && q.abort != nil && q.end == nil {
			q.aborted, q.abortedAt = true, p.k.Now()
			q.abort()
		}
	case "metrics":
		for i, s := range p.servers {
			if e.Endpoint == nil || *e.Endpoint == i {
				s.set(e)
			}
		}
	case "endpoints":
		p.r.SetEndpoints(p.endpoints(*e.N))
	case "sample":
		p.samples = append(p.samples, p.gather())
	}
}

func (p *replay) running(id string) *run {
	if q := p.runs[id]; q != nil && q.reply != nil && q.end == nil {
		return q
	}
	return nil
}

func (p *replay) arrive(e recordedEvent, id string) {
	q := &run{id: id, at: p.k.Now(), replay: p}
	p.runs[id] = q
	p.order = append(p.order, q)
	call := &sim.Call{ID: id, Path: e.Path}
	q.call = call
	p.byCall[call] = q
	if e.RequestID != nil {
		call.ID = *e.RequestID
	}
	if call.Path == "" {
		call.Path = "/v1/completions"
	}
	headers := e.headers()
	ReadHeaders(call, func(name string) (string, bool) { v, ok := headers[name]; return v, ok })
	if e.Pin != nil {
		call.Subset = []string{fmt.Sprintf("e%d", *e.Pin)}
	}
	if err := ReadBody(call, e.body(call.Path)); err != nil {
		end := p.r.RefuseBody(err)
		q.End(p.k.Now(), end)
		return
	}
	if e.BodyBytes > 0 {
		call.BodyBytes = e.BodyBytes
	}
	q.abort = p.r.Submit(call, q)
}

// headers are those that the recording client sent.
func (e recordedEvent) headers() map[string]string {
	h := map[string]string{}
	set := func(names []string, value string) {
		name := names[0]
		if e.HeaderNames == "old" {
			name = names[1]
		}
		h[name] = value
	}
	if e.Objective != "" {
		set(objectiveHeaders, e.Objective)
	}
	if e.Fairness != "" {
		set(fairnessHeaders, e.Fairness)
	}
	if e.SLO != nil {
		set(sloHeaders, fmt.Sprint(*e.SLO))
	}
	if e.SLORaw != nil {
		set(sloHeaders, *e.SLORaw)
	}
	for name, value := range e.Headers {
		h[strings.ToLower(name)] = value
	}
	return h
}

// body is the body that the recording client sent.
func (e recordedEvent) body(path string) []byte {
	if e.Body != nil {
		return []byte(*e.Body)
	}
	text := strings.Repeat("c", or(e.PromptBytes, 40))
	fields := map[string]any{"model": "m"}
	if e.Stream {
		fields["stream"] = true
	}
	ids := make([]int, e.PromptTokens)
	switch {
	case strings.HasSuffix(path, "/generate"):
		fields["token_ids"] = ids
		if e.MaxTokens != nil {
			fields["sampling_params"] = map[string]any{"max_tokens": *e.MaxTokens}
		}
	case strings.HasSuffix(path, "/chat/completions"):
		fields["messages"] = []map[string]string{{"role": "user", "content": text}}
	case e.PromptTokens > 0:
		fields["prompt"] = ids
	default:
		fields["prompt"] = text
	}
	if e.MaxTokens != nil && !strings.HasSuffix(path, "/generate") {
		fields["max_tokens"] = *e.MaxTokens
	}
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return body
}

// Headers implements sim.Reply, on the client's side.
func (q *run) Headers(kernel.Time, string) {}

// Tokens implements sim.Reply.
func (q *run) Tokens(kernel.Time, int) {}

// End implements sim.Reply.
func (q *run) End(at kernel.Time, end sim.End) {
	q.end, q.endAt = &end, at
	q.replay.sent++
	q.endPlace = q.replay.sent
}

func (q *run) start() {
	if q.started {
		return
	}
	q.started = true
	now := q.replay.k.Now()
	q.reply.Headers(now, q.server.name)
	q.reply.Tokens(now, 1)
}

func (q *run) finish(status int) {
	q.start()
	if status == 0 {
		status = 200
	}
	// The recording's server ended with a chunk more and told its usage in whole
	// answers only.
	now := q.replay.k.Now()
	q.reply.Tokens(now, 3)
	end := sim.End{Status: status, FinishReason: "stop"}
	if !q.call.Stream {
		end.Usage = sim.Usage{PromptTokens: q.call.PromptEstimate, OutputTokens: 4}
	}
	q.server.running--
	q.reply.End(now, end)
}

// outcome is what a recording would say of the request.
func (q *run) outcome() string {
	switch {
	case q.evicted():
		return "evicted"
	case q.place > 0:
		return "dispatched"
	case q.aborted:
		return "aborted"
	case q.end != nil:
		return "rejected"
	}
	return "queued_at_end"
}

func (q *run) evicted() bool {
	return q.end != nil && q.place > 0 && (q.end.Cut || q.end.DroppedReason == "evicted")
}

// modelServer is a server that does nothing but stand in the list and show metrics.
type modelServer struct {
	name    string
	replay  *replay
	running int
	waiting int
	kv      float64
	mode    string
	slots   *int // waiting is what runs beyond them
}

// Submit implements sim.Backend.
func (s *modelServer) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	p := s.replay
	q := p.byCall[call]
	p.sent++
	q.reply, q.server, q.sentAt, q.place = reply, s, p.k.Now(), p.sent
	s.running++
	return func() { s.running-- }
}

func (s *modelServer) set(e recordedEvent) {
	if e.Waiting != nil {
		s.waiting = *e.Waiting
	}
	if e.KV != nil {
		s.kv = *e.KV
	}
	if e.Mode != "" {
		s.mode = e.Mode
	}
	if e.Slots != nil {
		s.slots = e.Slots
	}
}

func (s *modelServer) page() Page {
	waiting := s.waiting
	if s.slots != nil {
		waiting = max(0, s.running-*s.slots)
	}
	return Page{
		Waiting:   waiting,
		Running:   s.running,
		KVUsage:   s.kv,
		NoWaiting: s.mode == "no_waiting" || s.mode == "empty",
		NoKVUsage: s.mode == "no_kv" || s.mode == "empty",
		NoRunning: s.mode == "empty",
		Failed:    s.mode == "error",
		Hung:      s.mode == "hang",
	}
}

// dispatches lists the requests that were sent, in that order.
func (p *replay) dispatches() []*run {
	return p.sorted(func(q *run) int { return q.place })
}

// evictions lists the requests that were evicted, in that order.
func (p *replay) evictions() []*run {
	return p.sorted(func(q *run) int {
		if q.evicted() {
			return q.endPlace
		}
		return 0
	})
}

func (p *replay) sorted(place func(*run) int) []*run {
	var list []*run
	for _, q := range p.order {
		if place(q) > 0 {
			list = append(list, q)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return place(list[i]) < place(list[j]) })
	return list
}

// gather sums the router's metrics as recordings do: by priority, by outcome or
// code and priority, or by endpoint.
func (p *replay) gather() map[string]map[string]float64 {
	sums := map[string]map[string]float64{}
	for _, f := range p.r.Metrics().Gather() {
		name, ok := strings.CutPrefix(f.GetName(), "llm_d_epp_")
		if !ok || f.GetType().String() == "HISTOGRAM" {
			continue
		}
		sums[name] = map[string]float64{}
		for _, m := range f.Metric {
			var first, second string
			for _, l := range m.Label {
				switch l.GetName() {
				case "outcome", "error_code", "endpoint_name":
					first = l.GetValue()
				case "priority":
					second = l.GetValue()
				}
			}
			key := second
			switch {
			case strings.HasPrefix(name, "inflight_"), second == "":
				key = first
			case first != "":
				key = first + "/" + second
			}
			sums[name][key] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sums
}
