package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// exchange is one recorded request to the real apiserver with its answer. A GET of a
// finished batch may carry what went in and came out.
type exchange struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Request struct {
		Method    string          `json:"method"`
		Path      string          `json:"path"`
		Headers   headers         `json:"headers"`
		Body      json.RawMessage `json:"body"`
		Multipart []part          `json:"multipart"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	} `json:"response"`
	Input              *string           `json:"input"`
	OutputFile         []json.RawMessage `json:"output_file"`
	ErrorFile          []json.RawMessage `json:"error_file"`
	Upstream           []upstreamRequest `json:"upstream_requests"`
	ProcessorLogReason string            `json:"processor_log_reason"`
}

type part struct {
	Name        string `json:"name"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Value       string `json:"value"`
	ValueNote   string `json:"value_note"`
}

type upstreamRequest struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Status int    `json:"status"`
}

// headers keeps the order in which they were sent, and one that was sent twice.
type headers [][2]string

func (h *headers) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return odd(text, "headers: found %s, expected an object of strings", compact(json.RawMessage(text)))
	}
	for decoder.More() {
		var pair [2]string
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		pair[0], _ = key.(string)
		if err := decoder.Decode(&pair[1]); err != nil {
			return odd(text, "headers.%s: %v", pair[0], err)
		}
		*h = append(*h, pair)
	}
	return nil
}

// values returns those of one header.
func (h headers) values(name string) (values []string) {
	for _, pair := range h {
		if strings.EqualFold(pair[0], name) {
			values = append(values, pair[1])
		}
	}
	return values
}

func readExchange(d document) (*exchange, error) {
	e := &exchange{}
	if err := d.decode(e); err != nil {
		return nil, err
	}
	if e.Name == "" {
		return nil, d.fault([]any{"name"}, "found none, expected the name of the case")
	}
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
	if !slices.Contains(methods, e.Request.Method) {
		return nil, d.fault([]any{"request", "method"}, "found %q, expected one of %s", e.Request.Method, strings.Join(methods, ", "))
	}
	if u, err := url.Parse(e.Request.Path); err != nil || !strings.HasPrefix(e.Request.Path, "/") || u.Host != "" {
		return nil, d.fault([]any{"request", "path"}, "found %q, expected a path", e.Request.Path)
	}
	if e.Response.Status < 100 || e.Response.Status > 599 {
		return nil, d.fault([]any{"response", "status"}, "found %d, expected an HTTP status", e.Response.Status)
	}
	for i, p := range e.Request.Multipart {
		if _, err := p.content(); err != nil {
			return nil, d.fault([]any{"request", "multipart", i, "value_note"}, "%v", err)
		}
	}
	return e, nil
}

func exchangeCase(d document, c *corpus) ([]Case, error) {
	e, err := readExchange(d)
	if err != nil {
		return nil, err
	}
	c.learn(e) // of a file of its own, nothing else is known
	w := c.wants(e)
	if w.err != "" {
		return nil, d.fault([]any{"response", "body"}, "%s", w.err)
	}
	return []Case{{
		Name: "http/" + e.Name, File: d.file,
		replay: func(o *outcome) { replayExchange(o, e, w) },
		ask:    askExchange(e, w),
	}}, nil
}

// shortened says how many bytes an abbreviated part had.
var shortened = regexp.MustCompile(`\((\d+) bytes`)

// maxPart is far above the upload of a recording.
const maxPart = 8 << 20

// content is the text of a part. One that was abbreviated consists of lines of "{}", as
// all of them did.
func (p part) content() (string, error) {
	if p.ValueNote == "" {
		return p.Value, nil
	}
	found := shortened.FindStringSubmatch(p.ValueNote)
	if found == nil {
		return "", fmt.Errorf("found %q, expected how many bytes the part had", p.ValueNote)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || n > maxPart {
		return "", fmt.Errorf("found %s bytes, expected up to %d", found[1], maxPart)
	}
	return strings.Repeat("{}\n", n/3), nil
}

// request builds the HTTP request. change is applied to its path and its body.
func (e *exchange) request(base string, change func(string) string) (*http.Request, error) {
	var body []byte
	contentType := ""
	switch {
	case len(e.Request.Multipart) > 0:
		body, contentType = e.form()
	case len(e.Request.Body) > 0:
		body = e.Request.Body
		var text string
		if json.Unmarshal(body, &text) == nil { // a body that is no JSON object is recorded as text
			body = []byte(text)
		}
		body = []byte(change(string(body)))
	}
	req, err := http.NewRequest(e.Request.Method, base+change(e.Request.Path), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range e.Request.Headers {
		req.Header.Add(h[0], h[1])
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return req, nil
}

func (e *exchange) form() (body []byte, contentType string) {
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	for _, p := range e.Request.Multipart {
		disposition := fmt.Sprintf(`form-data; name=%q`, p.Name)
		if p.Filename != "" {
			disposition += fmt.Sprintf(`; filename=%q`, p.Filename)
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.ContentType != "" {
			header.Set("Content-Type", p.ContentType)
		}
		out, err := w.CreatePart(header)
		if err != nil { // a buffer takes everything
			panic(err)
		}
		content, _ := p.content() // readExchange has looked at it
		io.WriteString(out, content)
	}
	w.Close()
	return buffer.Bytes(), w.FormDataContentType()
}

// answer is what came back on a socket.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func send(client *http.Client, req *http.Request) (answer, error) {
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	if len(res.TransferEncoding) > 0 {
		res.Header.Set("Transfer-Encoding", strings.Join(res.TransferEncoding, ","))
	}
	return answer{res.StatusCode, res.Header, body}, nil
}

// compare notes where an answer differs from the recorded one. hide replaces what two
// runs never share; lengths says whether the number of bytes is the same in both.
func (e *exchange) compare(o *outcome, a answer, hide func(string) string, lengths bool) {
	if a.status != e.Response.Status {
		o.differ("status: got %d, want %d; body %s", a.status, e.Response.Status, compact(json.RawMessage(a.body)))
		return
	}
	for _, name := range sortedKeys(e.Response.Headers) {
		got, want := a.header.Get(name), e.Response.Headers[name]
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case canonical == "X-Request-Id" && e.Request.Headers.values(name) == nil:
			if len(got) != len(want) {
				o.differ("header %s: got %q, want a UUID", canonical, got)
			}
		case !lengths && (canonical == "Content-Length" || canonical == "Transfer-Encoding"):
		case hide(got) != hide(want):
			o.differ("header %s: got %q, want %q", canonical, got, want)
		}
	}
	e.compareBody(o, a.body, hide)
}

// compareBody compares JSON by value with instants reduced to whether they are there,
// result files as sets of lines, and everything else as text.
func (e *exchange) compareBody(o *outcome, got []byte, hide func(string) string) {
	var text string
	if json.Unmarshal(e.Response.Body, &text) == nil {
		if isResults(text) {
			o.compareResults("body", string(got), text)
		} else if hide(string(got)) != hide(text) {
			o.differ("body: got %q, want %q", compact(string(got)), compact(text))
		}
		return
	}
	var want, have any
	if err := json.Unmarshal([]byte(hide(string(e.Response.Body))), &want); err != nil {
		want = nil // an answer without a body
	}
	if err := json.Unmarshal([]byte(hide(string(got))), &have); err != nil {
		o.differ("body: got no JSON (%v): %s", err, compact(string(got)))
		return
	}
	o.compareJSON("body", hideInstants(have), hideInstants(want))
}

// isResults reports whether text is an output or error file.
func isResults(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	var line struct {
		ID       string `json:"id"`
		CustomID string `json:"custom_id"`
	}
	return json.Unmarshal([]byte(first), &line) == nil && strings.HasPrefix(line.ID, "batch_req_")
}
