package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// send replays one request against handler over HTTP and returns its row.
func send(t *testing.T, handler http.HandlerFunc, change func(*inputs.Set)) record.Request {
	t.Helper()
	rows := sendAll(t, handler, testSet(t, dues(0)), change)
	if len(rows) != 1 {
		t.Fatalf("found %d rows, expected 1", len(rows))
	}
	return rows[0]
}

func sendAll(t *testing.T, handler http.HandlerFunc, set *inputs.Set, change func(*inputs.Set)) []record.Request {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	p := &set.Manifest.Profile
	p.Interactive.Phases = []spec.Phase{{Name: "burst", Rate: 1, Duration: spec.Duration(50 * time.Millisecond)}}
	if change != nil {
		change(set)
	}
	client := &openai.Client{BaseURL: server.URL, HTTP: openai.NewStreamClient(openai.Dialling{})}
	defer client.HTTP.CloseIdleConnections()
	k := kernel.NewWall()
	r, rows := virtualReplay(t, set, k, newHTTPTransport(k, client), nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return rows.requests
}

const event = "data: %s\n\n"

// chunk is a chunk of vLLM's stream that brings the count of output tokens to n.
func chunk(text string, n int, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return fmt.Sprintf(event, fmt.Sprintf(
		`{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}],"usage":{"prompt_tokens":9,"completion_tokens":%d,"total_tokens":%d}}`,
		text, finish, n, 9+n))
}

func write(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range parts {
		io.WriteString(w, p)
		w.(http.Flusher).Flush()
	}
}

func TestAStreamOverHTTPBecomesARow(t *testing.T) {
	var got openai.ChatRequest
	var id string
	row := send(t, func(w http.ResponseWriter, r *http.Request) {
		id = r.Header.Get(openai.HeaderRequestID)
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		write(w, chunk("a", 1, "null"), chunk("bc", 3, "length"), "data: [DONE]\n\n")
	}, nil)
	if row.Status != record.StatusOK || *row.HTTPStatus != 200 || *row.FinishReason != "length" || row.Error != nil {
		t.Errorf("status %s, http %d, error %v", row.Status, *row.HTTPStatus, row.Error)
	}
	if *row.OutputTokens != 3 || *row.TokenSource != record.TokensFromContinuousUsage || len(row.ChunkTokens) != 2 || row.ChunkTokens[1] != 2 || len(row.ChunkGapS) != 1 {
		t.Errorf("tokens %d from %s in chunks of %v", *row.OutputTokens, *row.TokenSource, row.ChunkTokens)
	}
	// printf abc | sha256sum
	if *row.OutputSHA256 != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("hash %s", *row.OutputSHA256)
	}
	order := []*time.Time{row.DueAt, row.SentAt, row.HeadersAt, row.FirstChunkAt, row.LastTokenAt, row.DoneAt}
	for i := range order[1:] {
		if order[i] == nil || order[i+1] == nil || order[i+1].Before(*order[i]) {
			t.Errorf("instant %d (%v) does not follow %v", i+1, order[i+1], order[i])
		}
	}
	if *row.LatenessS < 0 || *row.TTFTS <= 0 || *row.TTFTFromDueS < *row.TTFTS || *row.E2ES < *row.TTFTS {
		t.Errorf("lateness %v ttft %v from due %v e2e %v", *row.LatenessS, *row.TTFTS, *row.TTFTFromDueS, *row.E2ES)
	}
	if id != row.RequestID || !got.Stream || !got.StreamOptions.ContinuousUsageStats || got.MaxTokens != 3 || got.Model != "m" {
		t.Errorf("the server got %s %+v", id, got)
	}
	if *row.BytesSent == 0 || *row.BytesReceived == 0 || *row.ConnectionReused {
		t.Errorf("sent %d bytes, received %d, reused %v", *row.BytesSent, *row.BytesReceived, *row.ConnectionReused)
	}
}

func TestEveryEndOverHTTPHasItsStatus(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		status  string
		check   func(record.Request) bool
	}{
		{"429 is rate_limited", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, record.StatusRateLimited, func(r record.Request) bool { return *r.HTTPStatus == 429 && r.FirstTokenAt == nil && r.DoneAt != nil }},
		{"a reason to drop is rejected", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(openai.HeaderDroppedReason, "rejected-saturated")
			w.WriteHeader(http.StatusTooManyRequests)
		}, record.StatusRejected, func(r record.Request) bool { return *r.DroppedReason == "rejected-saturated" }},
		{"500 is http_error with the server's message", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":{"message":"engine died"}}`)
		}, record.StatusHTTPError, func(r record.Request) bool { return strings.Contains(*r.Error, "engine died") }},
		{"a stream that is cut is transport_error and keeps its tokens", func(w http.ResponseWriter, _ *http.Request) {
			write(w, chunk("a", 1, "null"), chunk("b", 2, "null"))
			panic(http.ErrAbortHandler)
		}, record.StatusTransportError, func(r record.Request) bool {
			return len(r.ChunkTokens) == 2 && r.OutputSHA256 == nil && *r.OutputTokens == 2
		}},
		{"an empty stream is protocol_error", func(w http.ResponseWriter, _ *http.Request) {
			write(w, "data: [DONE]\n\n")
		}, record.StatusProtocolError, func(r record.Request) bool { return r.TTFTS == nil && r.TPOTS == nil }},
		{"no answer at all is timeout", func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // the server notices a client that goes only then
			<-r.Context().Done()
		}, record.StatusTimeout, func(r record.Request) bool { return r.HTTPStatus == nil && *r.E2ES >= 0.05 }},
		{"a stream that stops is timeout", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			write(w, chunk("a", 1, "null"))
			<-r.Context().Done()
		}, record.StatusTimeout, func(r record.Request) bool { return r.TTFTS != nil && len(r.ChunkTokens) == 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := send(t, c.handler, func(set *inputs.Set) {
				set.Manifest.Profile.Interactive.RequestTimeout = spec.Duration(2 * time.Second)
				if c.status == record.StatusTimeout {
					set.Manifest.Profile.Interactive.RequestTimeout = spec.Duration(100 * time.Millisecond)
				}
			})
			if row.Status != c.status || !c.check(row) {
				t.Errorf("found status %s (%v), expected %s; row %+v", row.Status, row.Error, c.status, row)
			}
		})
	}
}

func TestNobodyListeningIsATransportError(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	set := testSet(t, dues(0))
	set.Manifest.Profile.Interactive.Phases = nil
	k := kernel.NewWall()
	tr := newHTTPTransport(k, &openai.Client{BaseURL: gone.URL})
	r, rows := virtualReplay(t, set, k, tr, nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := rows.requests[0]
	if row.Status != record.StatusTransportError || row.SentAt != nil || row.LatenessS != nil || row.DoneAt == nil {
		t.Errorf("status %s, sent %v, done %v", row.Status, row.SentAt, row.DoneAt)
	}
}

func TestARequestThatIsInFlightAtTheEndIsIncompleteAndCancelled(t *testing.T) {
	left := make(chan struct{})
	row := send(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		write(w, chunk("a", 1, "null"))
		<-r.Context().Done()
		close(left)
	}, func(set *inputs.Set) {
		set.Manifest.Profile.Drain.Interactive = spec.Duration(100 * time.Millisecond)
	})
	if row.Status != record.StatusIncomplete || row.DoneAt != nil || row.FirstTokenAt == nil {
		t.Errorf("status %s, done %v, first token %v", row.Status, row.DoneAt, row.FirstTokenAt)
	}
	<-left // the server saw the client go
}

func TestAServerThatClosesItsConnectionsCostsNoRequest(t *testing.T) {
	rows := sendAll(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		write(w, chunk("a", 1, "stop"), "data: [DONE]\n\n")
	}, testSet(t, dues(0, 0.01, 0.02, 0.03, 0.04)), nil)
	for _, row := range rows {
		if row.Status != record.StatusOK || *row.ConnectionReused {
			t.Errorf("%s: status %s (%v), reused %v", row.RequestID, row.Status, row.Error, *row.ConnectionReused)
		}
	}
}

func TestASlowServerDelaysNoOtherRequest(t *testing.T) {
	var mu sync.Mutex
	arrived := 0
	all := make(chan struct{})
	set := testSet(t, dues(0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007))
	rows := sendAll(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		if arrived++; arrived == len(set.Schedule) {
			close(all)
		}
		mu.Unlock()
		<-all // no answer before every request is here
		write(w, chunk("a", 1, "stop"), "data: [DONE]\n\n")
	}, set, nil)
	for _, row := range rows {
		if row.Status != record.StatusOK {
			t.Errorf("%s: status %s (%v)", row.RequestID, row.Status, row.Error)
		}
	}
}

func TestCheckSaysWhichAddressDoesNotAnswer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			w.WriteHeader(http.StatusNotFound) // a gateway that only passes /v1 on
		}
	}))
	defer up.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	check := func(inference, batch string) error {
		c, err := Connection{}.open(inference, batch)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		return c.check(ctx)
	}
	if err := check(up.URL, up.URL); err != nil {
		t.Errorf("a stack that is up: %v", err)
	}
	for what, s := range map[string]struct{ inference, batch string }{
		"inference endpoint": {gone.URL, ""},
		"batch endpoint":     {up.URL, gone.URL},
	} {
		err := check(s.inference, s.batch)
		if err == nil || !strings.HasPrefix(err.Error(), what+" "+gone.URL+" does not answer: ") {
			t.Errorf("found %v, expected that %s does not answer", err, what)
		}
	}
}

// apiServer is a Batch API with one job that ends at the second poll.
func apiServer(t *testing.T) *httptest.Server {
	polls := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/files", func(w http.ResponseWriter, r *http.Request) {
		f, _, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
		}
		content, err := io.ReadAll(f)
		if err != nil || !strings.HasPrefix(string(content), `{"custom_id":"A-0"`) || r.FormValue("purpose") != "batch" {
			t.Errorf("upload of %.60q for %q: %v", content, r.FormValue("purpose"), err)
		}
		io.WriteString(w, `{"id":"file_in","object":"file"}`)
	})
	mux.HandleFunc("POST /v1/batches", func(w http.ResponseWriter, r *http.Request) {
		var b openai.CreateBatch
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil || b.InputFileID != "file_in" || b.CompletionWindow != "1h0m0s" || b.Endpoint != "/v1/chat/completions" {
			t.Errorf("create %+v: %v", b, err)
		}
		io.WriteString(w, `{"id":"batch_1","status":"validating","created_at":1000}`)
	})
	mux.HandleFunc("GET /v1/batches/batch_1", func(w http.ResponseWriter, _ *http.Request) {
		if polls++; polls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, `{"id":"batch_1","status":"completed","created_at":1000,"output_file_id":"file_out","error_file_id":"file_err","request_counts":{"total":2,"completed":1,"failed":1}}`)
	})
	mux.HandleFunc("GET /v1/files/file_out/content", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Replace(lineOK, `"custom_id":"a"`, `"custom_id":"A-1"`, 1)+"\n")
	})
	mux.HandleFunc("GET /v1/files/file_err/content", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Replace(lineExpired, `"custom_id":"f"`, `"custom_id":"A-0"`, 1)+"\n")
	})
	return httptest.NewServer(mux)
}

func TestAJobGoesThroughTheBatchAPI(t *testing.T) {
	server := apiServer(t)
	defer server.Close()
	set := testSet(t, nil, 2)
	set.Manifest.Profile.Batch.Lead = 0
	set.Manifest.Profile.Interactive.Phases = nil
	k := kernel.NewWall()
	jobs := HTTPJobs{Context: t.Context(), K: k, Client: &openai.BatchClient{BaseURL: server.URL}}
	r, rows := virtualReplay(t, set, k, answering(k, 0, 0, 1), jobs, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := statuses(rows.jobs), "validating completed"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
	if w := strings.Join(r.Warnings(), "\n"); !strings.Contains(w, "1 questions to the Batch API failed") {
		t.Errorf("warnings: %s", w)
	}
	var found []string
	for _, row := range rows.requests {
		found = append(found, *row.CustomID+" "+row.Status)
	}
	if got, want := strings.Join(found, ", "), "A-1 ok, A-0 timeout"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}
