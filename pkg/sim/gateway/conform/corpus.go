package conform

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// corpus is what the exchanges of one folder tell of the files and batches in the
// database that they were recorded with.
type corpus struct {
	files   map[string]wantedFile
	batches map[string]wantedBatch
	inputs  map[string]string // by batch
}

// wantedFile is a file that has to be there before an exchange.
type wantedFile struct {
	id, tenant, purpose, filename, content string
	lifetime                               int64 // in seconds, 0 for the default
	deleted                                bool  // there it was
}

// wantedBatch is a job that has to be there, in the state of a recorded object.
type wantedBatch struct {
	openai.Batch
	tenant string
	input  *string
	// outputs is the content of its output file, nil when it was not recorded.
	outputs *string
	// anyState says that only its being there counts.
	anyState bool
}

// readCorpus learns from all exchanges in a folder; what it cannot read is told when
// it is replayed.
func readCorpus(folder string) *corpus {
	c := &corpus{files: map[string]wantedFile{}, batches: map[string]wantedBatch{}, inputs: map[string]string{}}
	files, _ := filepath.Glob(filepath.Join(folder, "*.json")) // the pattern is well-formed
	for _, file := range files {
		d, err := read(file)
		if err != nil {
			continue
		}
		if e, err := readExchange(d); err == nil {
			c.learn(e)
		}
	}
	return c
}

// tenant is the one that a request acts for.
func (e *exchange) tenant() string {
	values := e.Request.Headers.values("X-MaaS-Username")
	if len(values) == 0 || values[len(values)-1] == "" {
		return gateway.DefaultTenant
	}
	return values[len(values)-1]
}

// route is the path of a request in parts, without its query.
func (e *exchange) route() (parts []string, query url.Values) {
	u, err := url.Parse(e.Request.Path)
	if err != nil { // readExchange has looked at it
		return nil, nil
	}
	return strings.Split(strings.TrimPrefix(u.Path, "/"), "/"), u.Query()
}

// learn takes what one exchange tells.
func (c *corpus) learn(e *exchange) {
	if e.Response.Status != 200 {
		return
	}
	parts, _ := e.route()
	if len(parts) == 4 && parts[1] == "files" && parts[3] == "content" {
		var text string
		if json.Unmarshal(e.Response.Body, &text) == nil {
			f := c.files[parts[2]]
			f.id, f.content = parts[2], text
			if f.tenant == "" {
				f.tenant, f.purpose = e.tenant(), purposeOf(text)
			}
			c.files[f.id] = f
		}
		return
	}
	var object struct {
		Object  string            `json:"object"`
		Deleted bool              `json:"deleted"`
		Data    []json.RawMessage `json:"data"`
	}
	if json.Unmarshal(e.Response.Body, &object) != nil || object.Deleted {
		return
	}
	for _, text := range append(object.Data, e.Response.Body) {
		c.learnObject(e, text)
	}
}

func (c *corpus) learnObject(e *exchange, text json.RawMessage) {
	var kind struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	json.Unmarshal(text, &kind) // what has another form has no kind
	switch kind.Object {
	case "batch":
		var b openai.Batch
		if json.Unmarshal(text, &b) == nil {
			known, ok := c.batches[b.ID]
			if !ok || openai.Ended(b.Status) || !openai.Ended(known.Status) {
				c.batches[b.ID] = wantedBatch{Batch: b, tenant: e.tenant()}
			}
			if e.Input != nil {
				c.inputs[b.ID] = *e.Input
			}
		}
	case "file":
		var object openai.File
		if json.Unmarshal(text, &object) != nil {
			return
		}
		f := c.files[object.ID]
		f.id, f.tenant, f.purpose, f.filename = object.ID, e.tenant(), object.Purpose, object.Filename
		if object.ExpiresAt != nil {
			f.lifetime = *object.ExpiresAt - object.CreatedAt
		}
		for _, p := range e.Request.Multipart {
			if p.Name == "file" {
				f.content, _ = p.content() // readExchange has looked at it
			}
		}
		if f.content == "" {
			f.content = strings.Repeat("x", int(min(max(object.Bytes, 0), maxPart)))
		}
		c.files[f.id] = f
	}
}

func purposeOf(content string) string {
	if isResults(content) {
		return "batch_output"
	}
	return "batch"
}
