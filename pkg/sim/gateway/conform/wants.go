package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// wants is what an exchange needs.
type wants struct {
	files         []wantedFile
	batches       []wantedBatch
	limits        gateway.Limits
	observability bool   // the request goes to the apiserver's other port
	page          bool   // the answer shows what else is in the database
	err           string // the answer cannot come about in any way that is known here
}

var (
	noteLines   = regexp.MustCompile(`max_line_count (\d+)|maximum allowed line count of (\d+)`)
	noteBytes   = regexp.MustCompile(`max_size_bytes (\d+)|maximum allowed size of (\d+) bytes`)
	cannot      = regexp.MustCompile(`^Batch with status (\w+) cannot be cancelled$`)
	hasPurpose  = regexp.MustCompile(`has purpose '([^']*)'`)
	resultsFile = regexp.MustCompile(`^batch_(?:output|error)_(batch_.+)\.jsonl$`)
)

// limit finds a limit of the apiserver in the note of an exchange or in its error.
func limit(pattern *regexp.Regexp, texts ...string) int64 {
	for _, text := range texts {
		if found := pattern.FindStringSubmatch(text); found != nil {
			n, err := strconv.ParseInt(found[1]+found[2], 10, 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// wants says what has to be true before an exchange, as its answer tells it.
func (c *corpus) wants(e *exchange) wants {
	var w wants
	parts, query := e.route()
	var body struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	json.Unmarshal(e.Response.Body, &body) // text has neither
	message := ""
	if body.Error != nil {
		message = body.Error.Message
	}
	switch {
	case len(parts) == 1:
		w.observability = e.Response.Status == 200
	case parts[0] != "v1":
	case len(parts) == 2 && parts[1] == "files" && e.Request.Method == "POST":
		w.limits = gateway.Limits{
			MaxLineCount: int(limit(noteLines, e.Note, message)), MaxSizeBytes: limit(noteBytes, e.Note, message),
		}
	case len(parts) == 2 && parts[1] == "batches" && e.Request.Method == "POST":
		c.wantInput(&w, e, message)
	case len(parts) == 2 && e.Request.Method == "GET":
		c.wantPage(&w, e, parts[1], query)
	case (len(parts) == 3 || len(parts) == 4) && parts[1] == "files":
		c.wantFile(&w, e, parts[2])
	case (len(parts) == 3 || len(parts) == 4) && parts[1] == "batches" && parts[2] != "":
		c.wantBatch(&w, e, parts[2], message)
	}
	return w
}

// wantInput wants the input file that the creation of a batch names.
func (c *corpus) wantInput(w *wants, e *exchange, message string) {
	var request struct {
		InputFileID string `json:"input_file_id"`
	}
	body := e.Request.Body
	var text string
	if json.Unmarshal(body, &text) == nil { // recorded as text
		body = json.RawMessage(text)
	}
	// What follows the first value is not read.
	if json.NewDecoder(bytes.NewReader(body)).Decode(&request) != nil || request.InputFileID == "" {
		return
	}
	f, known := c.files[request.InputFileID]
	switch found := hasPurpose.FindStringSubmatch(message); {
	case found != nil:
		f.purpose, f.tenant = found[1], e.tenant()
	case strings.Contains(message, "not found"):
		if !known || f.tenant == e.tenant() {
			return // it must not be there
		}
	case !known || e.Response.Status == 200:
		f.purpose, f.tenant = "batch", e.tenant()
	}
	f.id = request.InputFileID
	w.files = append(w.files, f)
}

// wantFile wants the file that a request is about.
func (c *corpus) wantFile(w *wants, e *exchange, fileID string) {
	f, known := c.files[fileID]
	f.id = fileID
	switch {
	case e.Response.Status == 404 && !known:
	case e.Response.Status == 404:
		// It is another tenant's, or was deleted before.
		f.deleted = f.tenant == e.tenant()
		w.files = append(w.files, f)
	case e.Response.Status == 200:
		c.add(w, e.tenant(), f)
	}
}

// add wants a file; a result file is made by its job.
func (c *corpus) add(w *wants, tenant string, f wantedFile) {
	f.tenant = tenant
	for _, id := range sortedKeys(c.batches) {
		b := c.batches[id]
		if is(b.OutputFileID, f.id) || is(b.ErrorFileID, f.id) {
			w.batches = append(w.batches, c.detail(b))
			return
		}
	}
	if found := resultsFile.FindStringSubmatch(f.filename); found != nil {
		if b, ok := c.batches[found[1]]; ok {
			w.batches = append(w.batches, c.detail(b))
			return
		}
	}
	if f.purpose == "" {
		f.purpose = "batch"
	}
	w.files = append(w.files, f)
}

func is(id *string, want string) bool { return id != nil && *id == want }

// detail adds to a batch what is known of its files.
func (c *corpus) detail(b wantedBatch) wantedBatch {
	if input, ok := c.inputs[b.ID]; ok {
		b.input = &input
	}
	if b.OutputFileID != nil {
		if f, ok := c.files[*b.OutputFileID]; ok && isResults(f.content) {
			b.outputs = &f.content
		}
	}
	return b
}

// wantBatch wants the job that a request is about.
func (c *corpus) wantBatch(w *wants, e *exchange, batchID, message string) {
	known, ok := c.batches[batchID]
	switch found := cannot.FindStringSubmatch(message); {
	case found != nil: // how it got there does not matter
		known = stateOf(batchID, found[1])
		known.tenant = e.tenant()
	case e.Response.Status == 404 && ok && known.tenant != e.tenant():
		known.anyState = true
	case e.Response.Status == 200:
		if err := json.Unmarshal(e.Response.Body, &known.Batch); err != nil || known.ID != batchID {
			w.err = fmt.Sprintf("found %s, expected the batch %s", compact(e.Response.Body), batchID)
			return
		}
		known.tenant = e.tenant()
		if e.Request.Method == "POST" {
			known = beforeCancel(known)
		}
	default:
		return
	}
	if e.Input != nil {
		known.input = e.Input
	}
	w.batches = append(w.batches, c.detail(known))
}

// stateOf is a batch of which nothing but its status is known.
func stateOf(batchID, status string) wantedBatch {
	b := wantedBatch{Batch: openai.Batch{ID: batchID, Status: status, CompletionWindow: "1h", Endpoint: chatPath}}
	var some int64 = 1
	switch status {
	case openai.BatchExpired:
		b.CompletionWindow = "-1s"
	case openai.BatchFailed, openai.BatchCompleted: // of nothing but noise, and of nothing
	default:
		b.InProgressAt, b.RequestCounts = &some, openai.RequestCounts{Total: 1, Completed: 1}
	}
	return b
}

// beforeCancel is a batch as it was before the answer to a cancel.
func beforeCancel(b wantedBatch) wantedBatch {
	switch {
	case b.Status == openai.BatchCancelling && b.InProgressAt != nil:
		b.Status = openai.BatchInProgress
	case b.Status == openai.BatchCancelled && b.InProgressAt == nil:
		b.Status, b.CancelledAt = openai.BatchValidating, nil
	}
	b.CancellingAt = nil
	return b
}

// wantPage wants what a list shows, and around it what makes it the page that it is.
func (c *corpus) wantPage(w *wants, e *exchange, kind string, query url.Values) {
	var list struct {
		Data    []json.RawMessage `json:"data"`
		HasMore bool              `json:"has_more"`
	}
	if e.Response.Status != 200 || json.Unmarshal(e.Response.Body, &list) != nil {
		return
	}
	w.page = len(list.Data) > 0 || list.HasMore
	fill := func(id string) {
		if kind == "files" {
			purpose := query.Get("purpose")
			if purpose == "" {
				purpose = "batch"
			}
			w.files = append(w.files, wantedFile{id: "file_" + id, tenant: e.tenant(), purpose: purpose, content: "{}\n"})
			return
		}
		b := stateOf("batch_"+id, openai.BatchValidating)
		b.tenant, b.InProgressAt = e.tenant(), nil
		w.batches = append(w.batches, b)
	}
	if !w.page {
		return
	}
	// Pages are cut by the order of the ids: ! is below and ~ is above all of theirs.
	const maxBefore = 1000
	if n, err := strconv.Atoi(query.Get("after")); err == nil {
		for i := range min(n, maxBefore) {
			fill(fmt.Sprintf("!%03d", i))
		}
	}
	for _, text := range list.Data {
		switch kind {
		case "files":
			var object openai.File
			if json.Unmarshal(text, &object) == nil {
				f := c.files[object.ID]
				f.id, f.purpose, f.filename = object.ID, object.Purpose, object.Filename
				c.add(w, e.tenant(), f)
			}
		case "batches":
			b := wantedBatch{tenant: e.tenant()}
			if json.Unmarshal(text, &b.Batch) == nil {
				w.batches = append(w.batches, c.detail(b))
			}
		}
	}
	if list.HasMore {
		fill("~")
	}
	// A job whose output and error file are both on the page is one job.
	seen := map[string]bool{}
	w.batches = slices.DeleteFunc(w.batches, func(b wantedBatch) bool {
		twice := seen[b.ID]
		seen[b.ID] = true
		return twice
	})
}
