package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/gateway/scripted"
	"bgbench/pkg/sim/kernel"
)

// rig is the model of a gateway before a scripted backend, on the virtual clock.
type rig struct {
	*outcome
	k       *kernel.Kernel
	g       *gateway.Gateway
	backend *scripted.Backend
	jobs    []string // ids
	owed    int      // jobs that are still to be created
	ids     map[string][]string
	made    int
}

func newRig(o *outcome, cfg gateway.Config, latency time.Duration) *rig {
	k := kernel.NewVirtual()
	r := &rig{outcome: o, k: k, backend: scripted.New(k, latency), ids: map[string][]string{}}
	cfg.NewID = r.newID
	r.g = gateway.New(k, cfg, r.backend)
	return r
}

// newID gives out the ids that are expected, and then some.
func (r *rig) newID(prefix string) string {
	if queue := r.ids[prefix]; len(queue) > 0 {
		r.ids[prefix] = queue[1:]
		return queue[0]
	}
	r.made++
	return fmt.Sprintf("%s00000000-0000-4000-8000-%012x", prefix, r.made)
}

// expect makes ids the next of their kinds.
func (r *rig) expect(ids ...string) {
	for _, id := range ids {
		if prefix, _, ok := strings.Cut(id, "_"); ok {
			r.ids[prefix+"_"] = append(r.ids[prefix+"_"], id)
		}
	}
}

// submit creates a job at an instant.
func (r *rig) submit(at time.Duration, input, window string) {
	r.owed++
	r.k.At(at, func() {
		r.owed--
		r.create(input, window, nil)
	})
}

// create creates a job now. header is the request's.
func (r *rig) create(input, window string, header http.Header) {
	tenant := gateway.DefaultTenant
	if name := header.Get(r.g.TenantHeader()); name != "" {
		tenant = name
	}
	r.backend.Read(input)
	f, apiErr := r.g.Upload(tenant, gateway.Upload{Purpose: "batch", Filename: "input.jsonl", Content: []byte(input)})
	if apiErr != nil {
		r.differ("uploading the input: %v", apiErr)
		return
	}
	body, err := json.Marshal(openai.CreateBatch{InputFileID: f.ID, Endpoint: chatPath, CompletionWindow: window})
	if err != nil {
		r.differ("creating the job: %v", err)
		return
	}
	b, apiErr := r.g.CreateBatch(tenant, body, header)
	if apiErr != nil {
		r.differ("creating the job: %v", apiErr)
		return
	}
	r.jobs = append(r.jobs, b.ID)
}

const chatPath = "/v1/chat/completions"

// job returns the batch object of the i-th job.
func (r *rig) job(i int) openai.Batch {
	if i >= len(r.jobs) {
		return openai.Batch{}
	}
	return r.g.Peek(r.jobs[i])
}

// patience is how long a replay waits for its jobs.
const patience = 10 * time.Minute

// run runs until all jobs have ended and linger has passed.
func (r *rig) run(linger time.Duration) {
	var watch func()
	watch = func() {
		switch {
		case r.k.Now() > patience:
			r.differ("the jobs have not ended after %s", r.k.Now())
		case r.owed > 0 || slices.ContainsFunc(r.jobs, func(id string) bool { return !openai.Ended(r.g.Peek(id).Status) }):
			r.k.After(time.Millisecond, watch)
			return
		}
		r.k.After(linger, r.k.Stop)
	}
	r.k.After(0, watch)
	r.play()
}

// play runs the kernel until something stops it.
func (r *rig) play() {
	if err := r.k.Run(context.Background()); err != nil {
		r.differ("the model: %v", err)
	}
}

// content returns a result file, empty when there is none.
func (r *rig) content(id *string) string {
	if id == nil {
		return ""
	}
	return r.g.PeekFile(*id)
}

// lineFor is an input line whose user message is script.
func lineFor(customID, model, script string, system *string) string {
	messages := []openai.Message{{Role: "user", Content: script}}
	if system != nil {
		messages = append([]openai.Message{{Role: "system", Content: *system}}, messages...)
	}
	text, err := json.Marshal(map[string]any{
		"custom_id": customID, "method": "POST", "url": chatPath,
		"body": map[string]any{"model": model, "messages": messages},
	})
	if err != nil { // strings and lists of them always have a JSON form
		panic(err)
	}
	return string(text) + "\n"
}

// uniformInput is a job NAME of n requests that take latency each.
func uniformInput(name string, n int, latency time.Duration) string {
	var b strings.Builder
	for i := range n {
		id := fmt.Sprintf("%s-%03d", name, i)
		b.WriteString(lineFor(id, "m1", fmt.Sprintf("id=%s;lat=%d", id, latency.Milliseconds()), nil))
	}
	return b.String()
}

// seen says when the requests whose ids begin with prefix arrived first and ended last,
// in seconds.
func (r *rig) seen(prefix string) (first, last float64) {
	first = math.Inf(1)
	for _, row := range r.backend.Log {
		if strings.HasPrefix(row.ID, prefix) {
			first, last = min(first, row.Arrived.Seconds()), max(last, row.Done.Seconds())
		}
	}
	return first, last
}

// maxFlight is the largest number in flight of the requests whose ids begin with
// prefix.
func (r *rig) maxFlight(prefix string) int {
	type edge struct {
		at    time.Duration
		delta int
	}
	var edges []edge
	for _, row := range r.backend.Log {
		if strings.HasPrefix(row.ID, prefix) {
			edges = append(edges, edge{row.Arrived, 1}, edge{row.Done, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		// A slot is free before it is taken again.
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.delta, b.delta))
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.delta
		most = max(most, now)
	}
	return most
}

// slack is what the real machine needs beyond the model, in seconds: its polls, starts
// of jobs and some milliseconds a request.
const slack = 0.6

func near(got, recorded float64) bool { return math.Abs(got-recorded) <= slack }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
