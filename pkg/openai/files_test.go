package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// exchange is a recorded request to the llm-d batch gateway and its answer.
type exchange struct {
	Request struct {
		Method, Path string
		Body         json.RawMessage
		Multipart    []struct {
			Name, Filename, Value string
		}
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
}

// recorded serves one recorded exchange and checks that the client asks as
// recorded.
func recorded(t *testing.T, name string) (*BatchClient, exchange) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/batch-api", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var e exchange
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != e.Request.Method || r.URL.Path != e.Request.Path || r.Header.Get("X-MaaS-Username") != "tenant" || r.Header.Get("Authorization") != "Bearer k3y" {
			t.Errorf("found %s %s with headers %v, expected %s %s", r.Method, r.URL.Path, r.Header, e.Request.Method, e.Request.Path)
		}
		if len(e.Request.Multipart) > 0 {
			checkParts(t, r, e)
		} else if body, err := io.ReadAll(r.Body); err != nil || len(e.Request.Body) > 0 && !sameText(t, body, e.Request.Body) {
			t.Errorf("found body %s and error %v, expected %s", body, err, e.Request.Body)
		}
		w.Header().Set("Content-Type", e.Response.Headers["Content-Type"])
		w.WriteHeader(e.Response.Status)
		body := []byte(e.Response.Body)
		var text string
		if json.Unmarshal(body, &text) == nil {
			body = []byte(text)
		}
		w.Write(body)
	})
	return &BatchClient{BaseURL: url, APIKey: "k3y", Header: http.Header{"X-MaaS-Username": {"tenant"}}}, e
}

func checkParts(t *testing.T, r *http.Request, e exchange) {
	parts, err := r.MultipartReader()
	if err != nil {
		t.Error(err)
		return
	}
	for _, expected := range e.Request.Multipart {
		part, err := parts.NextPart()
		if err != nil {
			t.Error(err)
			return
		}
		value, err := io.ReadAll(part)
		if err != nil || part.FormName() != expected.Name || part.FileName() != expected.Filename || string(value) != expected.Value {
			t.Errorf("found part %s %s of %d bytes and error %v, expected %s %s of %d bytes", part.FormName(), part.FileName(), len(value), err, expected.Name, expected.Filename, len(expected.Value))
		}
	}
	if _, err := parts.NextPart(); !errors.Is(err, io.EOF) {
		t.Errorf("found another part, error %v", err)
	}
}

func sameText(t *testing.T, a, b []byte) bool {
	same, err := sameJSON(a, b)
	if err != nil {
		t.Error(err)
	}
	return same
}

func TestUploadSendsTheFormThatTheGatewayExpects(t *testing.T) {
	client, e := recorded(t, "file_upload_ok")
	text := e.Request.Multipart[1].Value
	path := filepath.Join(t.TempDir(), "input.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var sent int64
	byPath, err := client.UploadFile(t.Context(), path, PurposeBatch, func(n int64) { sent = n })
	if err != nil {
		t.Fatal(err)
	}
	byReader, err := client.Upload(t.Context(), Upload{Filename: "input.jsonl", Purpose: PurposeBatch, Body: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	if sent != int64(len(text)) {
		t.Errorf("heard of %d bytes sent, expected the %d of the file", sent, len(text))
	}
	for _, f := range []File{byPath, byReader} {
		if f.ID != "file_5f4ed984-cbcc-4e6d-8cb2-b13890f4570b" || f.Bytes != 316 || f.Status != "uploaded" || *f.ExpiresAt != 1803769218 {
			t.Errorf("found %+v", f)
		}
	}
}

func TestUploadKeepsNoCopyOfTheFile(t *testing.T) {
	const size = 64 << 20
	lengths := make(chan int64, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n < size || n > size+1000 {
			t.Errorf("found a body of %d bytes and error %v, expected %d and the form", n, err, size)
		}
		lengths <- r.ContentLength
		io.WriteString(w, `{"id":"file_1"}`)
	})
	client := &BatchClient{BaseURL: url}
	for name, c := range map[string]struct {
		declared int64
		length   bool
	}{"size known": {size, true}, "size not known": {0, false}} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := client.Upload(t.Context(), Upload{Filename: "f", Purpose: PurposeBatch, Body: io.LimitReader(zeros{}, size), Size: c.declared})
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if held := after.TotalAlloc - before.TotalAlloc; held > 2<<20 {
				t.Errorf("an upload of %d bytes allocated %d", size, held)
			}
			if length := <-lengths; (length > size) != c.length {
				t.Errorf("found Content-Length %d", length)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBatchCallsAsRecorded(t *testing.T) {
	t.Run("create", func(t *testing.T) {
		client, _ := recorded(t, "batch_create_ok_chat_completions")
		b, err := client.CreateBatch(t.Context(), CreateBatch{InputFileID: "file_5f4ed984-cbcc-4e6d-8cb2-b13890f4570b", Endpoint: "/v1/chat/completions", CompletionWindow: "24h"})
		if err != nil || b.ID != "batch_962e609e-79c4-42d4-b05e-ad1033913a97" || b.Status != BatchValidating {
			t.Errorf("found %+v and error %v", b, err)
		}
	})
	t.Run("get", func(t *testing.T) {
		client, _ := recorded(t, "batch_get_completed")
		b, err := client.Batch(t.Context(), "batch_bda390d0-8c80-43c3-91b7-484e37869a08")
		if err != nil || b.Status != BatchCompleted || b.RequestCounts != (RequestCounts{6, 6, 0}) || *b.OutputFileID != "file_2b8356a0-7f12-4579-a8f0-ab4e65ca8248" || *b.CompletedAt != 1795994092 || b.Metadata["job"] != "demo" {
			t.Errorf("found %+v and error %v", b, err)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		client, _ := recorded(t, "batch_cancel_in_progress")
		b, err := client.Cancel(t.Context(), "batch_c8eaaa79-9aa8-45e0-97a6-42918ea8b97b")
		if err != nil || b.Status != BatchCancelling {
			t.Errorf("found %+v and error %v", b, err)
		}
	})
	t.Run("content", func(t *testing.T) {
		client, _ := recorded(t, "file_content_ok")
		content, err := client.Content(t.Context(), "file_5f4ed984-cbcc-4e6d-8cb2-b13890f4570b")
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		if data, err := io.ReadAll(content); err != nil || len(data) != 316 || !bytes.HasPrefix(data, []byte(`{"custom_id"`)) {
			t.Errorf("found %d bytes and error %v", len(data), err)
		}
	})
}

func TestBatchErrorsCarryTheStatusAndTheGatewaysMessage(t *testing.T) {
	for name, call := range map[string]struct {
		do  func(*BatchClient) error
		err APIError
	}{
		"file_upload_bad_purpose": {
			func(c *BatchClient) error {
				text := `{"custom_id": "req-0000", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m1", "messages": [{"role": "user", "content": "id=req-0000"}]}}` + "\n" + `{"custom_id": "req-0001", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m1", "messages": [{"role": "user", "content": "id=req-0001"}]}}` + "\n"
				_, err := c.Upload(t.Context(), Upload{Filename: "input.jsonl", Purpose: "batches", Body: strings.NewReader(text), Size: int64(len(text))})
				return err
			},
			APIError{"upload input.jsonl", 400, "invalid_request_error", "Invalid file purpose 'batches'. Must be one of: assistants, assistants_output, batch, batch_output, fine-tune, fine-tune-results, vision, user_data"},
		},
		"batch_cancel_completed": {
			func(c *BatchClient) error {
				_, err := c.Cancel(t.Context(), "batch_bda390d0-8c80-43c3-91b7-484e37869a08")
				return err
			},
			APIError{"cancel batch batch_bda390d0-8c80-43c3-91b7-484e37869a08", 400, "invalid_request_error", "Batch with status completed cannot be cancelled"},
		},
		"batch_get_unknown": {
			func(c *BatchClient) error {
				_, err := c.Batch(t.Context(), "batch_00000000-0000-0000-0000-000000000000")
				return err
			},
			APIError{"get batch batch_00000000-0000-0000-0000-000000000000", 404, "not_found_error", "Batch with ID batch_00000000-0000-0000-0000-000000000000 not found"},
		},
		"file_content_unknown": {
			func(c *BatchClient) error {
				_, err := c.Content(t.Context(), "file_nope")
				return err
			},
			APIError{"get content of file file_nope", 404, "not_found_error", "File with ID file_nope not found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := recorded(t, name)
			var found *APIError
			if err := call.do(client); !errors.As(err, &found) || *found != call.err {
				t.Errorf("found error %+v, expected %+v", err, call.err)
			}
		})
	}
	err := &APIError{"create batch", 400, "invalid_request_error", "no"}
	if expected := "create batch: found status 400, expected 200: no"; err.Error() != expected {
		t.Errorf("found %q, expected %q", err.Error(), expected)
	}
}

func TestBatchClientRefusesAnswersThatAreNone(t *testing.T) {
	for body, message := range map[string]string{
		`<html>`:     `get batch b: found "<html>", expected a JSON object: invalid character '<' looking for beginning of value`,
		`{}`:         `get batch b: found id "" and status "" in the answer, expected a batch`,
		`{"id":"b"}`: `get batch b: found id "b" and status "" in the answer, expected a batch`,
		`{"id":"b","status":"in_progress","request_counts":{"failed":-1}}`:   `get batch b: found failed -1 in the answer, expected 0 to 2147483647`,
		`{"id":"b","status":"completed","completed_at":9223372036854775807}`: `get batch b: found completed_at 9223372036854775807 in the answer, expected 0 to 253402300799`,
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		client := &BatchClient{BaseURL: url}
		if _, err := client.Batch(t.Context(), "b"); err == nil || err.Error() != message {
			t.Errorf("found error %v, expected %s", err, message)
		}
		if _, err := client.Upload(t.Context(), Upload{Filename: "f", Body: strings.NewReader("")}); body == "{}" && (err == nil || err.Error() != "upload f: found no id in the answer, expected the uploaded file") {
			t.Errorf("found error %v", err)
		}
	}
}

func TestBatchClientNamesTheCompressionOfAnAnswer(t *testing.T) {
	const gzipped = "\x1f\x8b\x08\x00\x00\x00\x00\x00"
	const compressed = "found an answer in content encoding gzip, which was not asked for"
	for name, c := range map[string]struct {
		encoding string
		status   int
		want     string
	}{
		"a list":                        {"gzip", http.StatusOK, "list models: " + compressed},
		"a list that does not say so":   {"", http.StatusOK, "list models: found 8 bytes that are no text, expected a JSON object"},
		"a refusal":                     {"gzip", http.StatusInternalServerError, "list models: found status 500, expected 200: " + compressed},
		"an encoding with escape codes": {"gz\u009b31m", http.StatusInternalServerError, "list models: found status 500, expected 200: found an answer in content encoding gz<U+009B>31m, which was not asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			client := &BatchClient{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.encoding != "" {
					w.Header().Set("Content-Encoding", c.encoding)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, gzipped)
			})}
			if _, err := client.Models(t.Context()); err == nil || err.Error() != c.want {
				t.Errorf("found %q, expected %q", err, c.want)
			}
		})
	}
	client := &BatchClient{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, gzipped)
	})}
	if _, err := client.Content(t.Context(), "f"); err == nil || err.Error() != "get content of file f: "+compressed {
		t.Errorf("a file: found %v", err)
	}
}

func TestUploadReportsAFileThatCannotBeRead(t *testing.T) {
	client := &BatchClient{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })}
	if _, err := client.UploadFile(t.Context(), filepath.Join(t.TempDir(), "missing.jsonl"), PurposeBatch, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("found error %v, expected that the file does not exist", err)
	}
	broken := errors.New("disk broke")
	_, err := client.Upload(t.Context(), Upload{Filename: "f", Purpose: PurposeBatch, Body: io.MultiReader(strings.NewReader("a"), &failing{err: broken})})
	if !errors.Is(err, broken) {
		t.Errorf("found error %v, expected %v", err, broken)
	}
}

func TestBatchClientPassesErrorsOfTheConnectionOn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	client := &BatchClient{BaseURL: s.URL, APIKey: "k3y"}
	if _, err := client.CreateBatch(t.Context(), CreateBatch{}); err == nil || !strings.HasPrefix(err.Error(), "create batch: ") || strings.Contains(err.Error(), "k3y") {
		t.Errorf("found error %v", err)
	}
}
