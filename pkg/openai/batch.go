package openai

import (
	"encoding/json"
	"fmt"
	"math"
)

// File is the Files API's object.
type File struct {
	ID        string `json:"id"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	ExpiresAt *int64 `json:"expires_at,omitempty"`
	Filename  string `json:"filename"`
	Object    string `json:"object"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status,omitempty"`
}

// CreateBatch is the body of POST /v1/batches.
type CreateBatch struct {
	InputFileID      string            `json:"input_file_id"`
	Endpoint         string            `json:"endpoint"`
	CompletionWindow string            `json:"completion_window"`
	Metadata         map[string]string `json:"metadata,omitempty"`
	// OutputExpiresAfter says when the output file may be deleted.
	OutputExpiresAfter *OutputExpiresAfter `json:"output_expires_after,omitempty"`
}

// OutputExpiresAfter is the lifetime of a file, counted from Anchor.
type OutputExpiresAfter struct {
	Anchor  string `json:"anchor"` // created_at
	Seconds int64  `json:"seconds"`
}

// Batch is the Batch API's object, its keys in the order of llm-d's apiserver.
// Instants are Unix seconds.
type Batch struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Endpoint         string            `json:"endpoint"`
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"`
	Metadata         map[string]string `json:"metadata"`
	CreatedAt        int64             `json:"created_at"`
	Status           string            `json:"status"`
	OutputFileID     *string           `json:"output_file_id"`
	ErrorFileID      *string           `json:"error_file_id"`
	CancelledAt      *int64            `json:"cancelled_at"`
	CancellingAt     *int64            `json:"cancelling_at"`
	CompletedAt      *int64            `json:"completed_at"`
	ExpiredAt        *int64            `json:"expired_at"`
	ExpiresAt        *int64            `json:"expires_at"`
	FailedAt         *int64            `json:"failed_at"`
	FinalizingAt     *int64            `json:"finalizing_at"`
	InProgressAt     *int64            `json:"in_progress_at"`
	RequestCounts    RequestCounts     `json:"request_counts"`
	Errors           json.RawMessage   `json:"errors"`
	Usage            json.RawMessage   `json:"usage"`
}

// fault says which count or instant cannot be one, empty for none.
func (b Batch) fault() string {
	const lastSecond = 253402300799 // of the year 9999, the last one that a date is written in
	for _, f := range []struct {
		name string
		n    *int64
		most int64
	}{
		{"total", &b.RequestCounts.Total, math.MaxInt32}, {"completed", &b.RequestCounts.Completed, math.MaxInt32}, {"failed", &b.RequestCounts.Failed, math.MaxInt32},
		{"created_at", &b.CreatedAt, lastSecond}, {"in_progress_at", b.InProgressAt, lastSecond}, {"finalizing_at", b.FinalizingAt, lastSecond},
		{"completed_at", b.CompletedAt, lastSecond}, {"expired_at", b.ExpiredAt, lastSecond},
	} {
		if f.n != nil && (*f.n < 0 || *f.n > f.most) {
			return fmt.Sprintf("found %s %d in the answer, expected 0 to %d", f.name, *f.n, f.most)
		}
	}
	return ""
}

// RequestCounts is the progress of a batch.
type RequestCounts struct {
	Total     int64 `json:"total"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
}

// Batch statuses.
const (
	BatchValidating = "validating"
	BatchInProgress = "in_progress"
	BatchFinalizing = "finalizing"
	BatchCompleted  = "completed"
	BatchFailed     = "failed"
	BatchExpired    = "expired"
	BatchCancelling = "cancelling"
	BatchCancelled  = "cancelled"
)

// Ended reports whether a batch in this status will not change any more.
func Ended(status string) bool {
	switch status {
	case BatchCompleted, BatchFailed, BatchExpired, BatchCancelled:
		return true
	}
	return false
}

// BatchLine is one line of a batch input file.
type BatchLine struct {
	CustomID string          `json:"custom_id"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
}

// BatchOutput is one line of a batch output or error file.
type BatchOutput struct {
	ID       string         `json:"id"`
	CustomID string         `json:"custom_id"`
	Response *BatchResponse `json:"response"`
	Error    *BatchError    `json:"error"`
}

// BatchResponse is the answer to one line.
type BatchResponse struct {
	StatusCode int             `json:"status_code"`
	RequestID  string          `json:"request_id"`
	Body       json.RawMessage `json:"body"`
}

// BatchError says why a line has no answer.
type BatchError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
