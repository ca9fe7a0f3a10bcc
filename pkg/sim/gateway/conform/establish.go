package conform

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/sim/serve"
	"bgbench/pkg/spec"
)

// replayExchange brings a fresh model into the state that an exchange needs, sends the
// request to its HTTP side and compares the answer.
func replayExchange(o *outcome, e *exchange, w wants) {
	cfg := plainConfig(1000, 10_000, 10_000)
	cfg.Limits = w.limits
	r := newRig(o, cfg, 20*time.Millisecond)
	before := len(o.differences)
	r.k.After(0, func() { r.establish(w, func() { r.exchange(e, w); r.k.Stop() }) })
	r.play()
	if len(o.differences) == before {
		r.compareJob(e)
	}
}

// establish creates files and jobs one after another and then calls done. Jobs come in
// an order in which each is still in its state when the last of them is.
func (r *rig) establish(w wants, done func()) {
	for _, f := range w.files {
		r.establishFile(f)
	}
	jobs := slices.Clone(w.batches)
	slices.SortStableFunc(jobs, func(a, b wantedBatch) int { return a.rank() - b.rank() })
	var next func()
	next = func() {
		if len(jobs) == 0 {
			done()
			return
		}
		b := jobs[0]
		jobs = jobs[1:]
		r.establishJob(b, next)
	}
	next()
}

// rank orders jobs by how long their state lasts.
func (b wantedBatch) rank() int {
	switch {
	case openai.Ended(b.Status):
		return 0
	case b.Status == openai.BatchInProgress && b.RequestCounts.Total > 0:
		return 1
	case b.Status == openai.BatchInProgress:
		return 2
	case b.Status == openai.BatchFinalizing:
		return 3
	case b.Status == openai.BatchCancelling:
		return 4
	}
	return 5 // queued: no time may pass
}

func (r *rig) establishFile(f wantedFile) {
	r.expect(f.id)
	upload := gateway.Upload{Purpose: f.purpose, Filename: f.filename, Content: []byte(f.content)}
	if f.lifetime > 0 && f.lifetime != gateway.DefaultLifetime {
		upload.ExpiresAnchor, upload.ExpiresSeconds = "created_at", strconv.FormatInt(f.lifetime, 10)
	}
	_, apiErr := r.g.Upload(f.tenant, upload)
	if apiErr == nil && f.deleted {
		_, apiErr = r.g.DeleteFile(f.tenant, f.id)
	}
	if apiErr != nil {
		r.differ("before the exchange: file %s: %v", f.id, apiErr)
	}
}

// lines is the input of a job that gets to the state of b: how many of its lines are
// answered well, refused, fail without an answer, and never end.
func (b wantedBatch) lines() string {
	if b.input != nil {
		return *b.input
	}
	if b.InProgressAt == nil && b.Status == openai.BatchFailed {
		return "no JSON\n"
	}
	var text strings.Builder
	used := map[string]bool{}
	completed, failed := b.RequestCounts.Completed, b.RequestCounts.Failed
	if b.outputs != nil {
		for row := range strings.Lines(*b.outputs) {
			var line openai.BatchOutput
			if json.Unmarshal([]byte(row), &line) != nil || line.Response == nil {
				continue
			}
			used[line.CustomID] = true
			if line.Response.StatusCode == http.StatusOK {
				completed--
			} else {
				failed--
			}
			text.WriteString(lineFor(line.CustomID, "m1", fmt.Sprintf("id=%s;lat=10;plan=%d", line.CustomID, line.Response.StatusCode), nil))
		}
	}
	total := max(b.RequestCounts.Total, min(1, int64(1-len(used))))
	if b.Status == openai.BatchCompleted {
		total = b.RequestCounts.Total
	}
	for i := int64(0); int64(len(used)) < min(total, maxRequests); i++ {
		id := fmt.Sprintf("req-%04d", i)
		if used[id] {
			continue
		}
		used[id] = true
		script := "lat=86400000" // never ends
		switch {
		case completed > 0:
			completed--
			script = "lat=10"
		case failed > 0 && b.Status != openai.BatchCancelled && b.Status != openai.BatchExpired:
			failed--
			script = "lat=10;plan=400"
			if b.ErrorFileID != nil {
				script = "lat=10;plan=close"
			}
		}
		text.WriteString(lineFor(id, "m1", "id="+id+";"+script, nil))
	}
	return text.String()
}

// establishJob creates a job and calls next when it is in its state.
func (r *rig) establishJob(b wantedBatch, next func()) {
	input := b.lines()
	r.backend.Read(input)
	if b.InputFileID == "" {
		b.InputFileID = "file_of_" + b.ID
	}
	if r.g.PeekFile(b.InputFileID) == "" {
		r.establishFile(wantedFile{id: b.InputFileID, tenant: b.tenantOrDefault(), purpose: "batch", filename: "input.jsonl", content: input})
	}
	r.expect(b.ID)
	body, err := json.Marshal(openai.CreateBatch{
		InputFileID: b.InputFileID, Endpoint: b.Endpoint, CompletionWindow: b.CompletionWindow, Metadata: b.Metadata,
	})
	if err != nil {
		r.differ("before the exchange: batch %s: %v", b.ID, err)
		return
	}
	if _, apiErr := r.g.CreateBatch(b.tenantOrDefault(), body, nil); apiErr != nil {
		r.differ("before the exchange: batch %s: %v", b.ID, apiErr)
		r.k.Stop()
		return
	}
	if b.anyState || b.Status == openai.BatchValidating {
		next()
		return
	}
	if b.OutputFileID != nil {
		r.expect(*b.OutputFileID)
	}
	if b.ErrorFileID != nil {
		r.expect(*b.ErrorFileID)
	}
	r.bringTo(b, next)
}

func (b wantedBatch) tenantOrDefault() string {
	if b.tenant == "" {
		return gateway.DefaultTenant
	}
	return b.tenant
}

// settled is when the first counts of a job have been pushed and its quick lines are
// done.
const settled = 1500 * time.Millisecond

// bringTo does to a job what it takes to get it to the state of b.
func (r *rig) bringTo(b wantedBatch, next func()) {
	cancel := func() {
		if _, apiErr := r.g.Cancel(b.tenantOrDefault(), b.ID); apiErr != nil {
			r.differ("before the exchange: cancelling %s: %v", b.ID, apiErr)
		}
	}
	started := func(then func()) { r.until(b, openai.BatchInProgress, then) }
	switch {
	case b.ExpiresAt != nil: // set where a restart sends a job back to the start
		started(func() {
			r.g.Stop(spec.SignalKill, r.g.Start)
			b.ExpiresAt = nil
			r.bringTo(b, next)
		})
	case b.Status == openai.BatchInProgress && b.RequestCounts.Total > 0:
		started(func() { r.k.After(settled, next) })
	case b.Status == openai.BatchCancelling:
		started(func() { cancel(); next() })
	case b.Status == openai.BatchCancelled && b.InProgressAt == nil:
		cancel()
		next()
	case b.Status == openai.BatchCancelled:
		started(func() {
			r.k.After(settled, func() { cancel(); r.until(b, b.Status, next) })
		})
	case b.Status == openai.BatchFailed && b.InProgressAt != nil:
		started(func() { r.orphan(b, next) })
	default:
		r.until(b, b.Status, next)
	}
}

// orphan ends the processor under a job that failed in the middle: after a restart it
// has files, after batch-gc it has none.
func (r *rig) orphan(b wantedBatch, next func()) {
	r.k.After(settled, func() {
		if b.OutputFileID != nil || b.ErrorFileID != nil {
			r.g.Stop(spec.SignalTerm, func() { r.g.Start(); r.until(b, b.Status, next) })
			return
		}
		r.g.Stop(spec.SignalKill, func() { r.g.StartGC(time.Second); r.until(b, b.Status, next) })
	})
}

// until calls next when a job has a status.
func (r *rig) until(b wantedBatch, status string, next func()) {
	window, _ := time.ParseDuration(b.CompletionWindow) // the gateway has accepted it
	giveUp := r.k.Now() + min(max(window, 0), 24*time.Hour) + time.Minute
	var watch func()
	watch = func() {
		now := r.g.Peek(b.ID).Status
		switch {
		case now == status:
			next()
		case r.k.Now() > giveUp, openai.Ended(now):
			r.differ("before the exchange: the job %s is %s, want %s", b.ID, now, status)
			r.k.Stop()
		default:
			r.k.After(time.Millisecond, watch)
		}
	}
	watch()
}

// exchange sends the request over a socket. The kernel stands still meanwhile, inside
// the event that calls this.
func (r *rig) exchange(e *exchange, w wants) {
	if e.Response.Status == http.StatusOK && e.Request.Method == "POST" {
		var made struct {
			ID string `json:"id"`
		}
		json.Unmarshal(e.Response.Body, &made) // text makes nothing
		if parts, _ := e.route(); len(parts) == 2 {
			r.expect(made.ID)
		}
	}
	var mu sync.Mutex
	handler := serve.BatchHandlerOn(r.g, func(fn func()) {
		mu.Lock()
		defer mu.Unlock()
		fn()
	})
	if w.observability {
		handler = serve.ObservabilityHandler(r.k, &metric.Registry{})
	}
	a, err := overLoopback(handler, e)
	if err != nil {
		r.differ("asking the model: %v", err)
		return
	}
	e.compare(r.outcome, a, func(text string) string { return text }, true)
}

// overLoopback serves h for one exchange.
func overLoopback(h http.Handler, e *exchange) (answer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return answer{}, err
	}
	server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelError)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		server.Serve(listener) // it ends when it is closed
	}()
	defer func() {
		server.Close()
		<-stopped
	}()
	req, err := e.request("http://"+listener.Addr().String(), func(text string) string { return text })
	if err != nil {
		return answer{}, err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	return send(&http.Client{Transport: transport, Timeout: time.Minute}, req)
}

// compareJob compares what the exchange says of the job beside its object.
func (r *rig) compareJob(e *exchange) {
	if e.Input == nil {
		return
	}
	var b openai.Batch
	if json.Unmarshal(e.Response.Body, &b) != nil {
		return
	}
	r.want("reason in the processor's log", r.g.FailureReason(b.ID), e.ProcessorLogReason)
	r.compareResults("output_file", r.content(b.OutputFileID), joinLines(e.OutputFile))
	r.compareResults("error_file", r.content(b.ErrorFileID), joinLines(e.ErrorFile))
	var got, want []string
	for _, row := range r.backend.Log {
		path := row.Call.Path
		if path == "" {
			path = chatPath
		}
		got = append(got, fmt.Sprint(row.ID, " ", path, " ", row.Answer))
	}
	for _, u := range e.Upstream {
		want = append(want, fmt.Sprint(u.ID, " ", u.Path, " ", u.Status))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.differ("upstream_requests: got %v, want %v", got, want)
	}
}

func joinLines(lines []json.RawMessage) string {
	var text strings.Builder
	for _, line := range lines {
		var value any
		json.Unmarshal(line, &value) // decode has read it
		one, err := json.Marshal(value)
		if err != nil { // what was read can be written
			panic(err)
		}
		text.Write(append(one, '\n'))
	}
	return text.String()
}
