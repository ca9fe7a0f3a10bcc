package record

import (
	"time"

	"bgbench/pkg/spec"
)

// Request is one attempt of one request, as the client saw it.
type Request struct {
	Experiment string `parquet:"experiment,dict"`
	Arm        string `parquet:"arm,dict"`
	Trial      int32  `parquet:"trial"`
	Seed       int64  `parquet:"seed"`

	Class string  `parquet:"class,dict"` // one of the Class constants
	Job   *string `parquet:"job,dict"`   // the batch job that the request belongs to
	// Phase and Cycle are those of the due time (of the send time where a request
	// has no due time); null outside the schedule.
	Phase  *string `parquet:"phase,dict"`
	Cycle  *int32  `parquet:"cycle"`
	Warmup bool    `parquet:"warmup"`
	// CrossesPhase says that the request ended in another phase than it began in.
	CrossesPhase bool `parquet:"crosses_phase"`

	RequestID   string  `parquet:"request_id,plain"`
	CustomID    *string `parquet:"custom_id,plain"`
	PromptIndex *int64  `parquet:"prompt_index"`
	Attempt     int32   `parquet:"attempt"` // 1 for the first

	// DueAt is when the schedule wanted the request to leave; null for requests
	// sent from a backlog. The others are null where the request did not get so far.
	DueAt        *time.Time `parquet:"due_at,timestamp(microsecond)"`
	SentAt       *time.Time `parquet:"sent_at,timestamp(microsecond)"`
	HeadersAt    *time.Time `parquet:"headers_at,timestamp(microsecond)"`
	FirstChunkAt *time.Time `parquet:"first_chunk_at,timestamp(microsecond)"`
	FirstTokenAt *time.Time `parquet:"first_token_at,timestamp(microsecond)"`
	LastTokenAt  *time.Time `parquet:"last_token_at,timestamp(microsecond)"`
	DoneAt       *time.Time `parquet:"done_at,timestamp(microsecond)"`

	LatenessS    *float64 `parquet:"lateness_s"`      // send − due
	TTFTS        *float64 `parquet:"ttft_s"`          // first token − send
	TTFTFromDueS *float64 `parquet:"ttft_from_due_s"` // first token − due
	E2ES         *float64 `parquet:"e2e_s"`           // done − send
	E2EFromDueS  *float64 `parquet:"e2e_from_due_s"`  // done − due
	// TPOTS is (last token − first token) / (output tokens − 1); null below 2 tokens.
	TPOTS *float64 `parquet:"tpot_s"`

	// ChunkGapS holds the time between successive content chunks, and ChunkTokens
	// the tokens that each content chunk carried; the first chunk has tokens but no
	// gap, so len(ChunkTokens) = len(ChunkGapS)+1 for a stream with content.
	ChunkGapS   []float32 `parquet:"chunk_gap_s,list"`
	ChunkTokens []int32   `parquet:"chunk_tokens,list"`

	PromptTokens          *int64  `parquet:"prompt_tokens"` // as the server counted
	CachedTokens          *int64  `parquet:"cached_tokens"`
	OutputTokens          *int64  `parquet:"output_tokens"`
	ReasoningTokens       *int64  `parquet:"reasoning_tokens"`
	RequestedPromptTokens *int64  `parquet:"requested_prompt_tokens"`
	RequestedOutputTokens *int64  `parquet:"requested_output_tokens"`
	TokenSource           *string `parquet:"token_source,dict"` // one of the TokenSource constants

	Status        string  `parquet:"status,dict"` // one of the Status constants
	HTTPStatus    *int32  `parquet:"http_status"`
	DroppedReason *string `parquet:"dropped_reason,dict"` // x-llm-d-request-dropped-reason
	Error         *string `parquet:"error,dict"`
	FinishReason  *string `parquet:"finish_reason,dict"`

	Objective        *string `parquet:"objective,dict"`
	Priority         *int32  `parquet:"priority"`
	Endpoint         *string `parquet:"endpoint,dict"` // the model server that answered
	ConnectionReused *bool   `parquet:"connection_reused"`
	BytesSent        *int64  `parquet:"bytes_sent"`
	BytesReceived    *int64  `parquet:"bytes_received"`
	OutputSHA256     *string `parquet:"output_sha256,plain"` // of the text, hexadecimal
}

// Classes of requests.
const (
	ClassInteractive     = spec.ClassInteractive
	ClassBatch           = "batch"            // a line of a Batch API job
	ClassBatchEquivalent = "batch-equivalent" // the same line sent as an ordinary request (arm s1)
	ClassStandard        = spec.ClassStandard
)

// How a request ended. A request has exactly one status.
const (
	StatusOK             = "ok"
	StatusRejected       = "rejected"        // refused by admission or flow control
	StatusEvicted        = "evicted"         // accepted, then dropped for a more important one
	StatusRateLimited    = "rate_limited"    // 429 for any other reason
	StatusHTTPError      = "http_error"      // any other status but 200, or an error object inside a 200
	StatusProtocolError  = "protocol_error"  // an answer that breaks the protocol, or that nothing says is whole
	StatusTransportError = "transport_error" // no connection, or it broke
	StatusTimeout        = "timeout"
	StatusCancelled      = "cancelled"  // ended by us before its time
	StatusIncomplete     = "incomplete" // still in flight when the run ended
)

// Statuses lists every status in the order in which reports show them.
var Statuses = []string{
	StatusOK, StatusRejected, StatusEvicted, StatusRateLimited, StatusHTTPError,
	StatusProtocolError, StatusTransportError, StatusTimeout, StatusCancelled, StatusIncomplete,
}

// Where token counts come from, best first.
const (
	TokensFromContinuousUsage = "continuous_usage"
	TokensFromUsage           = "usage"
	TokensFromChunks          = "chunks"
)
