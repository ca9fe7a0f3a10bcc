package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// BatchClient speaks the Files and Batches API. It is safe for concurrent use and
// must not be copied after its first use.
type BatchClient struct {
	BaseURL string       // without /v1
	HTTP    *http.Client // nil makes one with NewHTTPClient
	APIKey  Secret
	Header  http.Header // on each request, the tenant header for one

	once sync.Once
}

// APIError is an answer that is not 2xx.
type APIError struct {
	Operation string // "create batch"
	Status    int
	Type      string
	Message   string
}

// Error says what was done, the status and the server's message.
func (e *APIError) Error() string {
	return fmt.Sprintf("%s: found status %d, expected 200: %s", e.Operation, e.Status, e.Message)
}

// Upload is a file to be uploaded.
type Upload struct {
	Filename string
	Purpose  string // PurposeBatch
	Body     io.Reader
	// Size is the length of Body where it is known, else 0 or less: the request then
	// has no Content-Length, and a server that limits uploads notices late.
	Size int64
	// Sent is told how many bytes of Body were handed to the connection so far; may be nil.
	Sent func(bytes int64)
}

// PurposeBatch is the purpose of a batch input file.
const PurposeBatch = "batch"

// Upload sends a file and holds no more of it in memory than a buffer.
func (c *BatchClient) Upload(ctx context.Context, u Upload) (File, error) {
	operation := "upload " + u.Filename
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	if err := form.WriteField("purpose", u.Purpose); err != nil {
		return File{}, fmt.Errorf("%s: %w", operation, err)
	}
	if _, err := form.CreateFormFile("file", u.Filename); err != nil {
		return File{}, fmt.Errorf("%s: %w", operation, err)
	}
	head := frame.Len()
	if err := form.Close(); err != nil {
		return File{}, fmt.Errorf("%s: %w", operation, err)
	}
	before, after := frame.Bytes()[:head], frame.Bytes()[head:]
	req, err := c.request(ctx, http.MethodPost, "/v1/files", io.MultiReader(bytes.NewReader(before), &countingReader{r: u.Body, sent: u.Sent}, bytes.NewReader(after)))
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", operation, err)
	}
	if u.Size > 0 {
		req.ContentLength = int64(frame.Len()) + u.Size
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	var file File
	if err := c.do(req, operation, &file); err != nil {
		return File{}, err
	}
	if file.ID == "" {
		return File{}, fmt.Errorf("%s: found no id in the answer, expected the uploaded file", operation)
	}
	return file, nil
}

// countingReader tells how much of it was read.
type countingReader struct {
	r    io.Reader
	n    int64
	sent func(int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.sent != nil {
		c.sent(c.n)
	}
	return n, err
}

// UploadFile sends the file at path under its own name. sent is as in Upload.
func (c *BatchClient) UploadFile(ctx context.Context, path, purpose string, sent func(bytes int64)) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("upload: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, fmt.Errorf("upload: %w", err)
	}
	return c.Upload(ctx, Upload{Filename: filepath.Base(path), Purpose: purpose, Body: f, Size: info.Size(), Sent: sent})
}

// CreateBatch starts a batch job.
func (c *BatchClient) CreateBatch(ctx context.Context, b CreateBatch) (Batch, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return Batch{}, fmt.Errorf("create batch: %w", err)
	}
	return c.batch(ctx, "create batch", http.MethodPost, "/v1/batches", bytes.NewReader(body))
}

// Batch returns a batch job as it is now.
func (c *BatchClient) Batch(ctx context.Context, id string) (Batch, error) {
	return c.batch(ctx, "get batch "+id, http.MethodGet, "/v1/batches/"+url.PathEscape(id), nil)
}

// Cancel asks for the end of a batch job.
func (c *BatchClient) Cancel(ctx context.Context, id string) (Batch, error) {
	return c.batch(ctx, "cancel batch "+id, http.MethodPost, "/v1/batches/"+url.PathEscape(id)+"/cancel", nil)
}

// Content returns the content of a file; the caller closes it.
func (c *BatchClient) Content(ctx context.Context, fileID string) (io.ReadCloser, error) {
	operation := "get content of file " + fileID
	req, err := c.request(ctx, http.MethodGet, "/v1/files/"+url.PathEscape(fileID)+"/content", nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	resp, err := c.send(req, operation)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Get asks for a page below base, which need not be that of the client, and returns
// the status of the answer.
func (c *BatchClient) Get(ctx context.Context, base, path string) (status int, err error) {
	resp, err := c.page(ctx, base, path)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, nil
}

// Date asks for a page as Get does and returns the Date of the answer: the server's
// clock, cut to its second.
func (c *BatchClient) Date(ctx context.Context, base, path string) (time.Time, error) {
	resp, err := c.page(ctx, base, path)
	if err != nil {
		return time.Time{}, err
	}
	return http.ParseTime(resp.Header.Get("Date"))
}

// page returns an answer whose body was read and closed.
func (c *BatchClient) page(ctx context.Context, base, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	prepare(req, c.APIKey, c.Header)
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, errorBodyLimit))
	return resp, err
}

func (c *BatchClient) batch(ctx context.Context, operation, method, path string, body io.Reader) (Batch, error) {
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return Batch{}, fmt.Errorf("%s: %w", operation, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	var b Batch
	if err := c.do(req, operation, &b); err != nil {
		return Batch{}, err
	}
	if b.ID == "" || b.Status == "" {
		return Batch{}, fmt.Errorf("%s: found id %q and status %q in the answer, expected a batch", operation, b.ID, b.Status)
	}
	if why := b.fault(); why != "" {
		return Batch{}, fmt.Errorf("%s: %s", operation, why)
	}
	return b, nil
}

func (c *BatchClient) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.BaseURL, "/")+path, body)
	if err != nil {
		return nil, err
	}
	prepare(req, c.APIKey, c.Header)
	return req, nil
}

// objectLimit bounds the JSON of one API object: 16 pairs of metadata and some ids.
const objectLimit = 1 << 20

func (c *BatchClient) do(req *http.Request, operation string, object any) error {
	resp, err := c.send(req, operation)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, objectLimit))
	if err != nil {
		return fmt.Errorf("%s: reading the answer: %w", operation, err)
	}
	err = json.Unmarshal(data, object)
	switch {
	case err == nil:
		return nil
	case !utf8.Valid(data):
		return fmt.Errorf("%s: found %d bytes that are no text, expected a JSON object", operation, len(data))
	}
	return fmt.Errorf("%s: found %.80q, expected a JSON object: %w", operation, data, err)
}

// send returns an answer that is 2xx.
func (c *BatchClient) send(req *http.Request, operation string) (*http.Response, error) {
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	success := resp.StatusCode/100 == 2
	if success && readable(resp.Header) {
		return resp, nil
	}
	defer resp.Body.Close()
	if success {
		return nil, fmt.Errorf("%s: %s", operation, compressed(resp.Header))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
	if err != nil {
		return nil, fmt.Errorf("%s: found status %d, expected 200: reading the answer: %w", operation, resp.StatusCode, err)
	}
	return nil, &APIError{
		Operation: operation,
		Status:    resp.StatusCode,
		Type:      errorType(data),
		Message:   c.APIKey.hideIn(refusalMessage(resp, data)),
	}
}

func (c *BatchClient) client() *http.Client {
	c.once.Do(func() {
		if c.HTTP == nil {
			c.HTTP = NewHTTPClient(Dialling{})
		}
	})
	return c.HTTP
}
