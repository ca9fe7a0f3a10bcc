package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	batchbackend "bgbench/pkg/sim/gateway/scripted"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

func TestAJobRunsOverHTTPOnTheWallClock(t *testing.T) {
	k := kernel.NewWall()
	backend := batchbackend.New(k, time.Millisecond)
	content := input(3, 1)
	backend.Read(content)
	cfg := processorConfig()
	cfg.PollInterval = spec.Duration(time.Millisecond)
	g := gateway.New(k, cfg, backend)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		k.Run(ctx)
	}()
	server := httptest.NewServer(BatchHandler(k, g))
	defer func() {
		server.Close()
		cancel()
		<-stopped
	}()

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	w.WriteField("purpose", "batch")
	part, err := w.CreateFormFile("file", "input.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	part.Write([]byte(content))
	w.Close()
	var file openai.File
	call(t, "POST", server.URL+"/v1/files", w.FormDataContentType(), form.String(), &file)
	var job openai.Batch
	call(t, "POST", server.URL+"/v1/batches", "application/json",
		`{"input_file_id":"`+file.ID+`","endpoint":"/v1/chat/completions","completion_window":"1h"}`, &job)
	polls := 0
	for deadline := time.Now().Add(time.Minute); !openai.Ended(job.Status) && time.Now().Before(deadline); polls++ {
		call(t, "GET", server.URL+"/v1/batches/"+job.ID, "", "", &job)
	}
	if job.Status != openai.BatchCompleted || job.RequestCounts.Completed != 3 {
		t.Fatalf("job ended %s %+v", job.Status, job.RequestCounts)
	}

	counted := make(chan float64, 1)
	k.Post(func() {
		for _, f := range g.APIServer().Gather() {
			for _, m := range f.Metric {
				if f.GetName() == "http_requests_total" && m.Label[1].GetValue() == "/v1/batches/{batch_id}" {
					counted <- m.Counter.GetValue()
					return
				}
			}
		}
		counted <- 0
	})
	// The last poll is counted after its answer was written.
	if n := <-counted; n != float64(polls) && n != float64(polls-1) {
		t.Errorf("http_requests_total is %v after %d polls", n, polls)
	}
}

func call(t *testing.T, method, url, contentType, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, url, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestARequestEndsWithItsClientWhenTheKernelDoesNotAnswer(t *testing.T) {
	k := kernel.NewWall() // nobody runs it
	g := gateway.New(k, processorConfig(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	BatchHandler(k, g).ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/v1/batches", nil))
	if w.Body.Len() > 0 {
		t.Errorf("answered %s to a client that has gone", w.Body)
	}
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
