package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/sim/gateway"
	batchbackend "bgbench/pkg/sim/gateway/scripted"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

// exchange is one recorded request to the real apiserver with its answer. A job_*
// exchange is the GET of a finished batch and carries what went in and came out.
type exchange struct {
	Name    string
	Request struct {
		Method, Path string
		Headers      headers
		Body         json.RawMessage
		Multipart    []struct {
			Name, Filename string
			ContentType    string `json:"content_type"`
			Value          string
			ValueNote      string `json:"value_note"`
		}
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
	Input              string
	OutputFile         []map[string]any `json:"output_file"`
	ErrorFile          []map[string]any `json:"error_file"`
	Upstream           []map[string]any `json:"upstream_requests"`
	ProcessorLogReason string           `json:"processor_log_reason"`
}

// headers keeps the order in which they were sent.
type headers [][2]string

func (h *headers) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.Token()
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		value, err := decoder.Token()
		if err != nil {
			return err
		}
		*h = append(*h, [2]string{name.(string), value.(string)})
	}
	return nil
}

func recordings(t *testing.T) map[string]*exchange {
	t.Helper()
	files, err := filepath.Glob("testdata/batch-api/http/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string]*exchange{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e exchange
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[e.Name] = &e
	}
	return all
}

// replay drives one gateway through a script on the virtual clock.
type replay struct {
	*testing.T
	recorded map[string]*exchange
	k        *kernel.Kernel
	g        *gateway.Gateway
	backend  *batchbackend.Backend
	server   *httptest.Server
	ids      map[string][]string // ids to give out next, by prefix
	made     int
	steps    []step
	done     map[string]bool // exchanges that were replayed
	mu       sync.Mutex
}

// step is one action of a script; after it virtual time passes.
type step struct {
	do    func()
	then  time.Duration
	until func() bool // waits for this instead
}

func newReplay(t *testing.T, recorded map[string]*exchange, done map[string]bool, cfg gateway.Config) *replay {
	k := kernel.NewVirtual()
	r := &replay{T: t, recorded: recorded, k: k, ids: map[string][]string{}, done: done}
	r.backend = batchbackend.New(k, 20*time.Millisecond)
	cfg.NewID = r.newID
	r.g = gateway.New(k, cfg, r.backend)
	r.serve(batchHandler(r.g, r.post))
	return r
}

// post runs what a handler posts on the handler's goroutine: while a request is
// under way, the kernel waits for it inside an event.
func (r *replay) post(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
}

func (r *replay) serve(h http.Handler) {
	if r.server != nil {
		r.server.Close()
	}
	r.server = httptest.NewServer(h)
	r.Cleanup(r.server.Close)
}

func (r *replay) newID(prefix string) string {
	if queue := r.ids[prefix]; len(queue) > 0 {
		r.ids[prefix] = queue[1:]
		return queue[0]
	}
	r.made++
	return fmt.Sprintf("%s00000000-0000-4000-8000-%012d", prefix, r.made)
}

// expect makes id the next of its kind.
func (r *replay) expect(ids ...string) {
	for _, id := range ids {
		if id == "" {
			continue
		}
		prefix := id[:strings.Index(id, "_")+1]
		r.ids[prefix] = append(r.ids[prefix], id)
	}
}

// then adds actions to the script.
func (r *replay) then(actions ...func()) {
	for _, do := range actions {
		r.steps = append(r.steps, step{do: do})
	}
}

// after lets virtual time pass after the last action.
func (r *replay) after(d time.Duration) { r.steps[len(r.steps)-1].then += d }

func (r *replay) run() {
	r.Helper()
	var next func(i int)
	next = func(i int) {
		for ; i < len(r.steps); i++ {
			s := r.steps[i]
			if s.until != nil && !s.until() {
				if r.k.Now() > time.Minute {
					r.Errorf("step %d of the script waits in vain", i)
					break
				}
				r.k.After(time.Millisecond, func() { next(i) })
				return
			}
			if s.do != nil {
				s.do()
			}
			if s.then > 0 {
				r.k.After(s.then, func() { next(i + 1) })
				return
			}
		}
		r.k.Stop()
	}
	r.k.After(0, func() { next(0) })
	if err := r.k.Run(context.Background()); err != nil {
		r.Fatal(err)
	}
}

// exchanges replays recordings by name.
func (r *replay) exchanges(names ...string) {
	for _, name := range names {
		e := r.recorded[name]
		if e == nil {
			r.Fatalf("no recording %s", name)
		}
		r.then(func() { r.exchange(e) })
	}
}

func (r *replay) exchange(e *exchange) {
	r.Run(e.Name, func(t *testing.T) {
		if e.Response.Status == http.StatusOK && (e.Request.Path == "/v1/files" || e.Request.Path == "/v1/batches") && e.Request.Method == "POST" {
			r.expect(textField(e.Response.Body, "id"))
		}
		answer, err := r.server.Client().Do(e.request(t, r.server.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != e.Response.Status {
			t.Errorf("status %d, recorded %d; body %s", answer.StatusCode, e.Response.Status, body)
		}
		for name, want := range e.Response.Headers {
			got := answer.Header.Get(name)
			if name == "Transfer-Encoding" {
				got = strings.Join(answer.TransferEncoding, ",")
			}
			if name == "X-Request-Id" && !e.sent("x-request-id") {
				if len(got) != len(want) {
					t.Errorf("X-Request-Id %q, expected a UUID", got)
				}
				continue
			}
			if got != want {
				t.Errorf("%s: %q, recorded %q", name, got, want)
			}
		}
		compareBodies(t, body, e.Response.Body)
		if r.done[e.Name] {
			t.Errorf("%s is replayed twice", e.Name)
		}
		r.done[e.Name] = true
	})
}

func (e *exchange) sent(header string) bool {
	return slices.ContainsFunc(e.Request.Headers, func(h [2]string) bool { return strings.EqualFold(h[0], header) })
}

func (e *exchange) request(t *testing.T, url string) *http.Request {
	t.Helper()
	var body []byte
	contentType := ""
	switch {
	case len(e.Request.Multipart) > 0:
		body, contentType = e.form(t)
	case len(e.Request.Body) > 0:
		body = e.Request.Body
		var text string
		if json.Unmarshal(body, &text) == nil { // a body that is no JSON object is recorded as text
			body = []byte(text)
		}
	}
	req, err := http.NewRequest(e.Request.Method, url+e.Request.Path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range e.Request.Headers {
		req.Header.Add(h[0], h[1])
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return req
}

func (e *exchange) form(t *testing.T) (body []byte, contentType string) {
	t.Helper()
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	for _, part := range e.Request.Multipart {
		disposition := fmt.Sprintf(`form-data; name=%q`, part.Name)
		if part.Filename != "" {
			disposition += fmt.Sprintf(`; filename=%q`, part.Filename)
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if part.ContentType != "" {
			header.Set("Content-Type", part.ContentType)
		}
		out, err := w.CreatePart(header)
		if err != nil {
			t.Fatal(err)
		}
		value := part.Value
		if part.ValueNote != "" { // shortened: lines of "{}", the note says how many bytes
			var n int
			if _, err := fmt.Sscanf(part.ValueNote[strings.LastIndex(part.ValueNote, "(")+1:], "%d", &n); err != nil {
				t.Fatalf("value_note %q: %v", part.ValueNote, err)
			}
			value = strings.Repeat("{}\n", n/3)
		}
		out.Write([]byte(value))
	}
	w.Close()
	return buffer.Bytes(), w.FormDataContentType()
}

// textField returns a member of an object, empty when it is not a string.
func textField(body json.RawMessage, name string) string {
	var object map[string]any
	json.Unmarshal(body, &object)
	text, _ := object[name].(string)
	return text
}

// compareBodies compares JSON by value with instants reduced to whether they are
// there, result files as sets of lines, and everything else as text.
func compareBodies(t *testing.T, got []byte, recorded json.RawMessage) {
	t.Helper()
	var text string
	if json.Unmarshal(recorded, &text) == nil {
		if diff := cmp.Diff(fileLines(text), fileLines(string(got))); diff != "" {
			t.Errorf("body differs (- recorded, + ours):\n%s", diff)
		}
		return
	}
	var want, have any
	if err := json.Unmarshal(recorded, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &have); err != nil {
		t.Fatalf("answer is no JSON: %v: %s", err, got)
	}
	if diff := cmp.Diff(hideInstants(want), hideInstants(have)); diff != "" {
		t.Errorf("body differs (- recorded, + ours):\n%s", diff)
	}
}

// fileLines hides the ids of lines and the order in which they ended.
func fileLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		var result map[string]any
		if json.Unmarshal([]byte(line), &result) == nil && strings.HasPrefix(fmt.Sprint(result["id"]), "batch_req_") {
			lines[i] = strings.ReplaceAll(line, result["id"].(string), "ID")
		}
	}
	slices.Sort(lines)
	return lines
}

func hideInstants(v any) any {
	switch v := v.(type) {
	case map[string]any:
		created, _ := v["created_at"].(float64)
		for key, member := range v {
			instant, isNumber := member.(float64)
			switch {
			case !strings.HasSuffix(key, "_at") || !isNumber:
				v[key] = hideInstants(member)
			case key == "expires_at":
				v[key] = instant - created
			default:
				v[key] = "set"
			}
		}
	case []any:
		for i := range v {
			v[i] = hideInstants(v[i])
		}
	}
	return v
}

// upload stores a file under a recorded id, without an exchange of its own.
func (r *replay) upload(id, content string) {
	r.then(func() {
		r.expect(id)
		if _, err := r.g.Upload(gateway.DefaultTenant, gateway.Upload{Purpose: "batch", Filename: "input.jsonl", Content: []byte(content)}); err != nil {
			r.Fatal(err)
		}
		r.backend.Read(content)
	})
}

// create creates the batch that a recording shows, under its id.
func (r *replay) create(name string) {
	var b struct {
		ID, Endpoint     string
		InputFileID      string            `json:"input_file_id"`
		CompletionWindow string            `json:"completion_window"`
		Metadata         map[string]string `json:"metadata,omitempty"`
	}
	if err := json.Unmarshal(r.recorded[name].Response.Body, &b); err != nil {
		r.Fatal(err)
	}
	r.then(func() {
		r.expect(b.ID)
		body, _ := json.Marshal(map[string]any{
			"input_file_id": b.InputFileID, "endpoint": b.Endpoint,
			"completion_window": b.CompletionWindow, "metadata": b.Metadata,
		})
		if _, err := r.g.CreateBatch(gateway.DefaultTenant, body, nil); err != nil {
			r.Fatal(err)
		}
	})
}

// expectResults makes the ids of a recorded batch's files the next ones.
func (r *replay) expectResults(name string) {
	body := r.recorded[name].Response.Body
	r.then(func() { r.expect(textField(body, "output_file_id"), textField(body, "error_file_id")) })
}

// input is a job of n requests that take so many milliseconds each.
func input(n, latency int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"custom_id": "req-%04d", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m1", "messages": [{"role": "user", "content": "id=req-%04d;lat=%d"}]}}`+"\n", i, i, latency)
	}
	return b.String()
}

func processorConfig() gateway.Config {
	return gateway.Config{
		Gateway: spec.Gateway{
			NumWorkers:     60,
			Quirks:         spec.ObservedQuirks(),
			PollInterval:   spec.Duration(300 * time.Millisecond),
			Concurrency:    spec.Concurrency{Global: 100, PerEndpoint: 2},
			RequestTimeout: spec.Duration(30 * time.Second),
			InitialBackoff: spec.Duration(200 * time.Millisecond),
			MaxBackoff:     spec.Duration(2 * time.Second),
		},
		EndpointURL: "http://backend:8000",
	}
}

// TestRecordedExchanges replays what the real apiserver was asked and compares
// statuses, headers and bodies.
func TestRecordedExchanges(t *testing.T) {
	recorded := recordings(t)
	done := map[string]bool{}
	t.Run("uploads, creates and lists without a processor", func(t *testing.T) { replayWithoutProcessor(t, recorded, done) })
	t.Run("upload limits", func(t *testing.T) {
		cfg := processorConfig()
		cfg.Limits = gateway.Limits{MaxSizeBytes: 3000, MaxLineCount: 5}
		r := newReplay(t, recorded, done, cfg)
		r.exchanges("file_upload_max_lines_exact", "file_upload_too_many_lines", "file_upload_too_many_lines_no_final_newline",
			"file_upload_multipart_overhead_counts")
		r.run()
	})
	t.Run("jobs along their lives", func(t *testing.T) { replayJobs(t, recorded, done) })
	t.Run("jobs of odd lines", func(t *testing.T) { replayOddLines(t, recorded, done) })
	t.Run("observability port", func(t *testing.T) {
		r := newReplay(t, recorded, done, processorConfig())
		r.serve(ObservabilityHandler(r.k, &metric.Registry{}))
		r.exchanges("health", "ready")
		r.run()
	})
	for name := range recorded {
		if !done[name] {
			t.Errorf("%s is not replayed", name)
		}
	}
}

func replayWithoutProcessor(t *testing.T, recorded map[string]*exchange, done map[string]bool) {
	r := newReplay(t, recorded, done, processorConfig())
	with := func(prefix string, leaveOut ...string) (names []string) {
		for _, name := range slices.Sorted(maps.Keys(recorded)) {
			if strings.HasPrefix(name, prefix) && !slices.Contains(leaveOut, name) {
				names = append(names, name)
			}
		}
		return names
	}
	r.exchanges(with("file_upload_", "file_upload_max_lines_exact", "file_upload_too_many_lines",
		"file_upload_too_many_lines_no_final_newline", "file_upload_multipart_overhead_counts")...)
	r.exchanges("file_get_ok", "file_get_other_tenant", "file_get_unknown",
		"file_content_ok", "file_content_other_tenant", "file_content_unknown")
	// On the second apiserver, of the same database, one more file was uploaded.
	r.upload(textField(recorded["file_upload_max_lines_exact"].Response.Body, "id"), "{}\n")
	r.exchanges(with("file_list_", "file_list_purpose_batch_output")...)
	r.upload("file_daa28823-3bb2-4bb8-bef3-7a0c3a64b9c0", "")
	r.exchanges("file_delete_ok", "file_get_after_delete", "file_content_after_delete", "file_delete_again")
	r.exchanges(with("batch_create_")...)
	// The lists show a batch whose creation was not recorded.
	for _, e := range listedBatches(t, recorded["batch_list_limit_5x"]) {
		r.recorded = maps.Clone(recorded)
		r.recorded[e.Name] = e
		r.create(e.Name)
	}
	r.exchanges("batch_get_validating_queued", "batch_get_two_tenant_headers_last_wins", "batch_get_unknown")
	r.exchanges(with("batch_list_", "batch_list_order")...)
	r.exchanges("batch_cancel_other_tenant", "batch_cancel_unknown", "batch_cancel_validating_queued", "batch_cancel_already_cancelled")
	r.exchanges("health_on_api_port")
	r.exchanges(with("route_")...)
	r.run()
}

func replayJobs(t *testing.T, recorded map[string]*exchange, done map[string]bool) {
	r := newReplay(t, recorded, done, processorConfig())
	r.upload("file_9d8ccfd0-551f-405c-91c9-a9bf773d34bf", input(6, 1300))

	r.create("batch_get_completed")
	r.expectResults("batch_get_completed")
	r.until("batch_get_completed", "in_progress")
	r.exchanges("batch_get_in_progress_no_progress_yet")
	r.then(func() {})
	r.after(2500 * time.Millisecond)
	r.exchanges("batch_get_in_progress")
	r.until("batch_get_completed", "completed")
	r.exchanges("batch_get_completed", "batch_cancel_completed", "file_get_output", "file_content_output", "file_list_purpose_batch_output")

	r.create("batch_get_finalizing")
	r.until("batch_get_finalizing", "finalizing")
	r.exchanges("batch_get_finalizing", "batch_cancel_finalizing")
	r.until("batch_get_finalizing", "completed")

	r.create("batch_get_cancelled")
	r.after(3 * time.Second)
	r.exchanges("batch_cancel_in_progress", "batch_get_cancelling", "batch_cancel_cancelling_again")
	r.expectResults("batch_get_cancelled")
	r.until("batch_get_cancelled", "cancelled")
	r.exchanges("batch_get_cancelled", "batch_cancel_cancelled", "file_content_output_cancelled")

	var busy float64
	r.then(func() { busy = r.gauge("active_workers") })
	r.create("batch_get_cancelled_before_ingestion")
	r.wait(func() bool { return r.gauge("active_workers") > busy })
	r.exchanges("batch_get_validating_dequeued")
	r.then(func() {
		if b, err := r.g.Cancel(gateway.DefaultTenant, r.id("batch_get_validating_dequeued")); err != nil || b.Status != "cancelling" {
			t.Errorf("cancel of a job that was taken from the queue: %s, %v", b.Status, err)
		}
	})
	r.until("batch_get_cancelled_before_ingestion", "cancelled")
	r.exchanges("batch_get_cancelled_before_ingestion")

	r.create("batch_get_expired_window_minus_5m")
	r.until("batch_get_expired_window_minus_5m", "expired")
	r.exchanges("batch_get_expired_window_minus_5m")

	r.upload("file_d8ceda6e-ceb8-4962-8305-3896280f78f5", input(6, 1000))
	r.create("batch_get_expired")
	r.expectResults("batch_get_expired")
	r.until("batch_get_expired", "expired")
	r.exchanges("batch_get_expired", "file_content_output_expired", "file_content_error_expired")

	r.upload("file_12823c00-b1e5-4f1b-bc23-e0964c6164ca", input(4, 500))
	r.create("batch_get_completed_input_deleted_while_running")
	r.expectResults("batch_get_completed_input_deleted_while_running")
	r.until("batch_get_completed_input_deleted_while_running", "in_progress")
	r.exchanges("file_delete_input_of_running_job")
	r.until("batch_get_completed_input_deleted_while_running", "completed")
	r.exchanges("batch_get_completed_input_deleted_while_running", "file_delete_output", "batch_get_completed_output_deleted")
	r.run()
}

// replayOddLines runs a job of each odd input and compares what the API, its files,
// the backend and the processor's log say of it.
func replayOddLines(t *testing.T, recorded map[string]*exchange, done map[string]bool) {
	r := newReplay(t, recorded, done, processorConfig())
	const deleted = "batch_get_failed_input_deleted_before_start"
	r.upload(textField(recorded[deleted].Response.Body, "input_file_id"), input(1, 10))
	r.create(deleted)
	r.then(func() {
		if _, err := r.g.DeleteFile(gateway.DefaultTenant, textField(recorded[deleted].Response.Body, "input_file_id")); err != nil {
			t.Fatal(err)
		}
	})
	r.until(deleted, "failed")
	r.exchanges(deleted, "batch_cancel_failed")

	known := map[string]bool{r.id(deleted): true}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if e := recorded[name]; strings.HasPrefix(name, "job_") {
			known[r.id(name)] = true
			r.oddLine(e)
		}
	}
	// The recorded list shows failed jobs of which nothing else was recorded.
	r.recorded = maps.Clone(recorded)
	for _, e := range listedBatches(t, recorded["batch_list_order"]) {
		if known[e.Name] {
			continue
		}
		r.recorded[e.Name] = e
		r.upload(textField(e.Response.Body, "input_file_id"), "no JSON\n")
		r.create(e.Name)
		r.until(e.Name, "failed")
	}
	r.exchanges("batch_list_order")
	r.run()
}

// listedBatches makes an exchange, named by its id, of each entry of a list.
func listedBatches(t *testing.T, list *exchange) (all []*exchange) {
	t.Helper()
	var body struct{ Data []json.RawMessage }
	if err := json.Unmarshal(list.Response.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, entry := range body.Data {
		e := &exchange{Name: textField(entry, "id")}
		e.Response.Body = entry
		all = append(all, e)
	}
	return all
}

func (r *replay) oddLine(e *exchange) {
	r.upload(textField(e.Response.Body, "input_file_id"), e.Input)
	r.create(e.Name)
	r.expectResults(e.Name)
	logged := 0
	r.then(func() { logged = len(r.backend.Log) })
	r.until(e.Name, textField(e.Response.Body, "status"))
	r.exchanges(e.Name)
	r.then(func() {
		r.Run(e.Name+"/results", func(t *testing.T) {
			if got := r.g.FailureReason(r.id(e.Name)); got != e.ProcessorLogReason {
				t.Errorf("reason %q, recorded %q", got, e.ProcessorLogReason)
			}
			compareFile(t, r, "output", textField(e.Response.Body, "output_file_id"), e.OutputFile)
			compareFile(t, r, "error", textField(e.Response.Body, "error_file_id"), e.ErrorFile)
			var upstream []map[string]any
			for _, row := range r.backend.Log[logged:] {
				path := row.Call.Path
				if path == "" {
					path = "/v1/chat/completions"
				}
				upstream = append(upstream, map[string]any{"id": row.ID, "path": path, "status": 200.0})
			}
			byID := func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a["id"]), fmt.Sprint(b["id"])) }
			want := slices.Clone(e.Upstream)
			slices.SortFunc(want, byID)
			slices.SortFunc(upstream, byID)
			if len(want)+len(upstream) > 0 {
				if diff := cmp.Diff(want, upstream); diff != "" {
					t.Errorf("requests to the backend differ (- recorded, + ours):\n%s", diff)
				}
			}
		})
	})
}

func compareFile(t *testing.T, r *replay, kind, id string, recorded []map[string]any) {
	t.Helper()
	if id == "" {
		return // the exchange has compared that there is none
	}
	content, apiErr := r.g.Content(gateway.DefaultTenant, id)
	if apiErr != nil {
		t.Errorf("%s file: %v", kind, apiErr)
		return
	}
	var want strings.Builder
	for _, line := range recorded {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		want.Write(append(text, '\n'))
	}
	if diff := cmp.Diff(sortedLines(t, want.String()), sortedLines(t, string(content))); diff != "" {
		t.Errorf("%s file differs (- recorded, + ours):\n%s", kind, diff)
	}
}

// sortedLines gives the lines of a result file by custom_id, without their ids.
func sortedLines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("result line is no JSON: %v: %s", err, line)
		}
		if response, ok := object["response"].(map[string]any); ok && response["request_id"] == object["id"] {
			response["request_id"] = "ID"
		}
		object["id"] = "ID"
		lines = append(lines, object)
	}
	slices.SortFunc(lines, func(a, b map[string]any) int {
		return strings.Compare(fmt.Sprint(a["custom_id"]), fmt.Sprint(b["custom_id"]))
	})
	return lines
}

// id returns the id of the batch that a recording shows.
func (r *replay) id(name string) string { return textField(r.recorded[name].Response.Body, "id") }

// until lets virtual time pass until the batch has the status.
func (r *replay) until(name, status string) {
	r.wait(func() bool {
		b, err := r.g.Batch(gateway.DefaultTenant, r.id(name))
		return err == nil && b.Status == status
	})
}

func (r *replay) wait(until func() bool) { r.steps = append(r.steps, step{until: until}) }

func (r *replay) gauge(name string) float64 {
	for _, family := range r.g.Processor().Gather() {
		if family.GetName() == name {
			return family.Metric[0].GetGauge().GetValue()
		}
	}
	r.Fatalf("no gauge %s", name)
	return 0
}
