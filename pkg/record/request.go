package record

import (
	"time"

	"bgbench/pkg/spec"
)

// Request is one attempt of one request, as the client saw it.
type Request struct {
	Experiment string `parquet:"experiment,dict"` // which cell, as the next three
	Arm        string `parquet:"arm,dict"`        // its name
	Trial      int32  `parquet:"trial"`           // counted from 1
	Seed       int64  `parquet:"seed"`            // of the trial

	Class string  `parquet:"class,dict"` // interactive, batch, batch-equivalent or standard
	Job   *string `parquet:"job,dict"`   // the batch job that the request belongs to
	// Phase and Cycle are those of the due time (of the send time where a request
	// has no due time); null outside the schedule.
	Phase  *string `parquet:"phase,dict"`
	Cycle  *int32  `parquet:"cycle"`  // counted from 0; null outside the schedule
	Warmup bool    `parquet:"warmup"` // true if it belongs to no measured cycle
	// CrossesPhase says that the request ended in another phase than it began in.
	CrossesPhase bool `parquet:"crosses_phase"`

	RequestID   string  `parquet:"request_id,plain"` // as sent in x-request-id; of a line, as the Batch API says
	CustomID    *string `parquet:"custom_id,plain"`  // of the line of the job
	PromptIndex *int64  `parquet:"prompt_index"`     // line of prompts.jsonl, from 0
	Attempt     int32   `parquet:"attempt"`          // 1 for the first

	// DueAt is when the schedule wanted the request to leave; null for requests
	// sent from a backlog. The others are null where the request did not get so far.
	DueAt        *time.Time `parquet:"due_at,timestamp(microsecond)"`
	SentAt       *time.Time `parquet:"sent_at,timestamp(microsecond)"`        // when the last byte of the request was handed to the socket
	HeadersAt    *time.Time `parquet:"headers_at,timestamp(microsecond)"`     // when the headers of the answer came
	FirstChunkAt *time.Time `parquet:"first_chunk_at,timestamp(microsecond)"` // when its first bytes came
	FirstTokenAt *time.Time `parquet:"first_token_at,timestamp(microsecond)"` // when its first content came
	LastTokenAt  *time.Time `parquet:"last_token_at,timestamp(microsecond)"`  // when its last content came
	DoneAt       *time.Time `parquet:"done_at,timestamp(microsecond)"`        // when it ended, in whatever way

	LatenessS    *float64 `parquet:"lateness_s"`      // send − due
	TTFTS        *float64 `parquet:"ttft_s"`          // first token − send
	TTFTFromDueS *float64 `parquet:"ttft_from_due_s"` // first token − due
	E2ES         *float64 `parquet:"e2e_s"`           // done − send
	E2EFromDueS  *float64 `parquet:"e2e_from_due_s"`  // done − due
	// TPOTS is (last token − first token) / (output tokens − 1); null below 2 tokens.
	TPOTS *float64 `parquet:"tpot_s"`

	// ChunkGapS holds the time between successive content chunks. The first chunk has
	// tokens but no gap, so that ChunkTokens is longer by one for a stream with content.
	ChunkGapS   []float32 `parquet:"chunk_gap_s,list"`
	ChunkTokens []int32   `parquet:"chunk_tokens,list"` // tokens of each chunk with content

	PromptTokens          *int64  `parquet:"prompt_tokens"`           // as the server counted
	CachedTokens          *int64  `parquet:"cached_tokens"`           // of those, found in the prefix cache
	OutputTokens          *int64  `parquet:"output_tokens"`           // as the server counted, or chunks
	ReasoningTokens       *int64  `parquet:"reasoning_tokens"`        // of those, reasoning
	RequestedPromptTokens *int64  `parquet:"requested_prompt_tokens"` // as bg-gen counted when it wrote the prompt
	RequestedOutputTokens *int64  `parquet:"requested_output_tokens"` // as asked for in max_tokens
	TokenSource           *string `parquet:"token_source,dict"`       // continuous_usage, usage or chunks: where the counts come from, best first

	Status        string  `parquet:"status,dict"`         // how it ended: ok, rejected, evicted, rate_limited, http_error, protocol_error, transport_error, timeout, cancelled or incomplete
	HTTPStatus    *int32  `parquet:"http_status"`         // null where no answer came
	DroppedReason *string `parquet:"dropped_reason,dict"` // x-llm-d-request-dropped-reason
	Error         *string `parquet:"error,dict"`          // what went wrong, in words; null where nothing did
	FinishReason  *string `parquet:"finish_reason,dict"`  // as the server says: length, stop, …

	Objective        *string `parquet:"objective,dict"`      // the InferenceObjective that the request named
	Priority         *int32  `parquet:"priority"`            // of that objective in the router
	Endpoint         *string `parquet:"endpoint,dict"`       // the model server that answered
	ConnectionReused *bool   `parquet:"connection_reused"`   // whether an earlier request had used its connection
	BytesSent        *int64  `parquet:"bytes_sent"`          // of the body
	BytesReceived    *int64  `parquet:"bytes_received"`      // of the body
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
