package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"bgbench/pkg/batchfile"
	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
)

// batch is a row of the batch table with what is known beside it.
type batch struct {
	openai.Batch
	tenant   string
	deadline kernel.Time // creation + completion window, exact where created_at is not
	// progress is what the processor pushed while the job runs; the row itself has
	// no counts before the job ends.
	progress openai.RequestCounts
	reason   string // why it failed: only the processor's log says so
	// outputLifetime is output_expires_after in seconds, 0 without it.
	outputLifetime int64
	run            *run // while a worker has it
	// passed are the headers that its inference requests carry on from its creation.
	passed http.Header
	kept   *kept // of a run that a restart has ended
}

// BatchList is the answer to GET /v1/batches.
type BatchList struct {
	Object  string         `json:"object"`
	Data    []openai.Batch `json:"data"`
	FirstID *string        `json:"first_id"`
	LastID  *string        `json:"last_id"`
	HasMore bool           `json:"has_more"`
}

const anchorCreatedAt = "created_at"

// Limits on metadata, in bytes although the messages say characters.
const (
	maxMetadataKeys  = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

// CreateBatch queues a job. body is the request's: unknown fields are refused,
// anything after the first JSON value is not read. header is the request's, nil for
// none.
func (g *Gateway) CreateBatch(tenant string, body []byte, header http.Header) (openai.Batch, *APIError) {
	// The name appears in the texts of encoding/json.
	type CreateBatchRequest openai.CreateBatch
	var req CreateBatchRequest
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&req); err != nil {
		return openai.Batch{}, BadRequest("%s", err)
	}
	window, apiErr := validateCreate(openai.CreateBatch(req))
	if apiErr != nil {
		return openai.Batch{}, apiErr
	}
	f, ok := g.files[req.InputFileID]
	if !ok || f.tenant != tenant {
		return openai.Batch{}, BadRequest("Input file with ID '%s' not found", req.InputFileID)
	}
	if f.Purpose != purposeBatch {
		return openai.Batch{}, BadRequest("Input file '%s' has purpose '%s', but must have purpose 'batch'", req.InputFileID, f.Purpose)
	}
	b := &batch{
		Batch: openai.Batch{
			ID: g.newID("batch_"), Object: "batch", Endpoint: req.Endpoint,
			InputFileID: req.InputFileID, CompletionWindow: req.CompletionWindow,
			Metadata: req.Metadata, CreatedAt: g.unix(), Status: openai.BatchValidating,
		},
		tenant:   tenant,
		deadline: deadlineAfter(g.k.Now(), window),
		passed:   g.passThrough(header),
	}
	if req.OutputExpiresAfter != nil {
		b.outputLifetime = req.OutputExpiresAfter.Seconds
	}
	g.batches[b.ID] = b
	g.queue.push(b)
	return b.Batch, nil
}

// deadlineAfter adds without overflow: a window of three hundred years is allowed.
func deadlineAfter(now kernel.Time, window time.Duration) kernel.Time {
	if window > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + window
}

func validateCreate(req openai.CreateBatch) (window time.Duration, _ *APIError) {
	if req.CompletionWindow == "" {
		return 0, BadRequest("completion_window is required")
	}
	window, err := time.ParseDuration(req.CompletionWindow)
	if err != nil {
		return 0, BadRequest("completion_window must be a valid duration (e.g., 24h)")
	}
	if req.Endpoint == "" {
		return 0, BadRequest("endpoint is required")
	}
	if !batchfile.IsEndpoint(req.Endpoint) {
		return 0, BadRequest("invalid endpoint: %s", req.Endpoint)
	}
	if req.InputFileID == "" {
		return 0, BadRequest("input_file_id is required")
	}
	if len(req.Metadata) > maxMetadataKeys {
		return 0, BadRequest("metadata: too many keys (max %d, got %d)", maxMetadataKeys, len(req.Metadata))
	}
	for _, key := range slices.Sorted(maps.Keys(req.Metadata)) {
		if len(key) > maxMetadataKey {
			return 0, BadRequest("metadata: key exceeds %d characters", maxMetadataKey)
		}
		if len(req.Metadata[key]) > maxMetadataValue {
			return 0, BadRequest("metadata: value for key %q exceeds %d characters", key, maxMetadataValue)
		}
	}
	if after := req.OutputExpiresAfter; after != nil {
		if after.Anchor != anchorCreatedAt {
			return 0, BadRequest("output_expires_after.anchor must be 'created_at'")
		}
		if after.Seconds < minExpirationSeconds || after.Seconds > maxExpirationSeconds {
			return 0, BadRequest("output_expires_after.seconds must be between %d (1 hour) and %d (30 days)", minExpirationSeconds, maxExpirationSeconds)
		}
	}
	return window, nil
}

func (g *Gateway) batch(tenant, id string) (*batch, *APIError) {
	b, ok := g.batches[id]
	if !ok || b.tenant != tenant {
		return nil, NotFound("Batch with ID %s not found", id)
	}
	return b, nil
}

// object is the batch as GET shows it: the counts of a job in progress are those
// that the processor pushed.
func (b *batch) object() openai.Batch {
	o := b.Batch
	if o.Status == openai.BatchInProgress {
		o.RequestCounts = b.progress
	}
	return o
}

// Batch returns the batch object.
func (g *Gateway) Batch(tenant, id string) (openai.Batch, *APIError) {
	b, apiErr := g.batch(tenant, id)
	if apiErr != nil {
		return openai.Batch{}, apiErr
	}
	return b.object(), nil
}

// Cancel cancels a job: at once while it is queued, else as soon as the processor
// has cut it off.
func (g *Gateway) Cancel(tenant, id string) (openai.Batch, *APIError) {
	b, apiErr := g.batch(tenant, id)
	if apiErr != nil {
		return openai.Batch{}, apiErr
	}
	switch b.Status {
	case openai.BatchCancelled, openai.BatchCancelling:
		return b.Batch, nil
	case openai.BatchValidating, openai.BatchInProgress:
	default:
		return openai.Batch{}, BadRequest("Batch with status %s cannot be cancelled", b.Status)
	}
	if g.queue.remove(b) {
		b.Status = openai.BatchCancelled
		b.CancelledAt = g.unixPtr()
		return b.Batch, nil
	}
	b.Status = openai.BatchCancelling
	b.CancellingAt = g.unixPtr()
	g.cancelRun(b)
	return b.Batch, nil
}

// defaultBatchLimit and maxBatchLimit bound a page of GET /v1/batches.
const (
	defaultBatchLimit = 20
	maxBatchLimit     = 100
)

// Batches lists a tenant's jobs in the order of the ids' text. after is an offset.
func (g *Gateway) Batches(tenant string, q ListQuery) (BatchList, *APIError) {
	after, limit, apiErr := q.batchPage()
	if apiErr != nil {
		return BatchList{}, apiErr
	}
	var ids []string
	for id, b := range g.batches {
		if b.tenant == tenant {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids, more := page(ids, after, limit)
	list := BatchList{Object: "list", Data: make([]openai.Batch, len(ids)), HasMore: more}
	for i, id := range ids {
		list.Data[i] = g.batches[id].object()
	}
	if len(ids) > 0 {
		list.FirstID, list.LastID = &ids[0], &ids[len(ids)-1]
	}
	return list, nil
}

// batchPage reads integers as fmt.Sscanf does: what follows the digits is ignored.
func (q ListQuery) batchPage() (after, limit int, _ *APIError) {
	limit = defaultBatchLimit
	if q.Limit != "" {
		if _, err := fmt.Sscanf(q.Limit, "%d", &limit); err != nil {
			return 0, 0, BadRequest("invalid limit parameter: must be an integer")
		}
		if limit < 1 || limit > maxBatchLimit {
			return 0, 0, BadRequest("invalid limit parameter: must be between 1 and %d", maxBatchLimit)
		}
	}
	if q.After != "" {
		if _, err := fmt.Sscanf(q.After, "%d", &after); err != nil {
			return 0, 0, BadRequest("invalid after parameter: must be an integer")
		}
		if after < 0 {
			return 0, 0, BadRequest("invalid after parameter: must be equal to or greater than 0")
		}
	}
	return after, limit, nil
}
