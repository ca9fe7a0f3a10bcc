package engine

import (
	"math"

	"bgbench/pkg/sim"
)

// Request is one request as the scheduler sees it. The exported fields are set
// before Scheduler.Add and never change.
type Request struct {
	ID        string
	Prompt    sim.Prompt // not empty, shorter than the model's limit
	MaxTokens int        // output tokens after which it ends, at least 1
	Priority  int        // lower is more urgent; read under the priority policy only
	Arrival   int64      // breaks ties of Priority: earlier is more urgent
	Salt      string     // isolates the prefix cache
	Output    OutputIDs
	// Shared is what the prompt starts with like those of other requests, nil when that
	// is not known.
	Shared *SharedPrompt
	// EveryToken has Update return the request with each of its tokens.
	EveryToken bool

	state        requestState
	promptTokens int
	known        int // tokens of prompt and output that have arrived
	computed     int // tokens whose KV is in the cache, those of scheduled steps included
	placeholders int // async: output tokens that are scheduled and have not arrived
	inFlight     int // tokens of steps that are scheduled and not updated
	stale        int // the part of inFlight that was scheduled before a preemption
	limit        int // known tokens at which the request is finished
	decoding     decoding

	order  int      // of its admission: ascending among those that run
	slots  int      // tokens that blocks can hold
	hashAt int      // tokens at which the next block is full and can be hashed
	hashed int      // blocks of this request whose hash is in the prefix cache
	blocks []int32  // block table
	hashes []uint64 // chained hashes of full blocks; survives a preemption

	preemptions  int
	cachedTokens int // prefix-cache hit of the first admission

	place int64 // in the waiting queue under fcfs
	index int   // in the waiting queue's heap

	call *call // the server's side of the request; nil without a server
}

// OutputIDs gives the ids of a request's output tokens. They matter to the prefix
// cache alone: a later prompt that repeats an answer hits its blocks.
type OutputIDs interface {
	OutputID(i int) uint32
}

// SharedPrompt is a start that many prompts have in common. The scheduler hashes it
// once (BenchmarkAdmission).
type SharedPrompt struct {
	Tokens int

	hashes []uint64 // of its full blocks, without a salt; empty while not computed
}

type requestState uint8

const (
	stateNew requestState = iota
	stateWaiting
	statePreempted
	stateRunning
	stateFinished
	stateAborted
)

// OutputTokens is the number of output tokens that have arrived.
func (r *Request) OutputTokens() int { return r.known - r.promptTokens }

// CachedTokens is how many prompt tokens the prefix cache had when the request
// was first admitted.
func (r *Request) CachedTokens() int { return r.cachedTokens }

// Preemptions is how often the request lost its KV blocks.
func (r *Request) Preemptions() int { return r.preemptions }

// Finished reports whether the request ran to its end, by token count.
func (r *Request) Finished() bool { return r.state == stateFinished }

// Aborted reports whether Scheduler.Abort ended the request.
func (r *Request) Aborted() bool { return r.state == stateAborted }

func (r *Request) ended() bool { return r.state >= stateFinished }

// token returns the id of token i, counted over prompt and output.
func (r *Request) token(i int) uint32 {
	if i < r.promptTokens {
		return r.Prompt.ID(i)
	}
	return r.Output.OutputID(i - r.promptTokens)
}

// never is a token count that no request reaches.
const never = math.MaxInt
