package load

import (
	"context"
	"net/http"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// HTTPTransport carries requests to an OpenAI endpoint, each on a goroutine of its
// own that stamps what it sees and posts the finished attempt to the kernel.
type HTTPTransport struct {
	K      *kernel.Kernel // on the wall clock
	Client *openai.Client
	lists  *chunkLists
}

func newHTTPTransport(k *kernel.Kernel, client *openai.Client) HTTPTransport {
	return HTTPTransport{K: k, Client: client, lists: new(chunkLists)}
}

// Start implements Transport.
func (t HTTPTransport) Start(req *Request, done func(Attempt)) (cancel func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		a := t.attempt(ctx, req)
		t.K.Post(func() { done(*a) })
	}()
	return cancel
}

func (t HTTPTransport) attempt(ctx context.Context, req *Request) *Attempt {
	seen := &observed{epoch: t.K.Epoch(), lists: t.lists}
	header := http.Header{openai.HeaderRequestID: {req.ID}}
	if req.Objective != "" {
		header[openai.HeaderObjective] = []string{req.Objective}
	}
	result := t.Client.Stream(ctx, openai.Call{Encode: func(dst []byte) []byte { return appendBody(dst, req.Chat) }, Header: header}, seen)
	return seen.attempt(&result)
}

// observed is the openai.Observer that makes an Attempt.
type observed struct {
	epoch time.Time
	lists *chunkLists
	own   *chunkList // that of lists in which the chunks stand meanwhile, nil before the first
	last  time.Time  // of a chunk
	a     Attempt
}

// Sent implements openai.Observer; the result has it, too.
func (o *observed) Sent(time.Time, bool) {}

// Headers implements openai.Observer; the result has them, too.
func (o *observed) Headers(time.Time, int, http.Header) {}

// Chunk implements openai.Observer.
func (o *observed) Chunk(at time.Time, tokens int) {
	if o.own == nil {
		o.own = o.lists.take()
		o.a.ChunkGaps, o.a.ChunkTokens = o.own.gaps, o.own.tokens
	}
	if at == o.last { // one read brought both (BenchmarkClientPerToken)
		o.a.Together(tokens)
		return
	}
	o.last = at
	o.a.Content(at.Sub(o.epoch), tokens)
}

func (o *observed) attempt(r *openai.Result) *Attempt {
	a := &o.a
	if o.own != nil {
		o.own.gaps, o.own.tokens = a.ChunkGaps[:0], a.ChunkTokens[:0]
		a.ChunkGaps, a.ChunkTokens = append([]float32(nil), a.ChunkGaps...), append([]int32(nil), a.ChunkTokens...)
		o.lists.give(o.own)
	}
	a.Sent, a.Headers = o.stamp(r.SentAt), o.stamp(r.HeadersAt)
	a.FirstChunk, a.Done = o.stamp(r.FirstChunkAt), o.stamp(r.DoneAt)
	a.PromptTokens, a.CachedTokens = r.PromptTokens, r.CachedTokens
	a.OutputTokens, a.ReasoningTokens = r.OutputTokens, r.ReasoningTokens
	a.TokenSource = r.TokenSource
	a.Status, a.HTTPStatus, a.DroppedReason = r.Status, r.HTTPStatus, r.DroppedReason
	a.Error, a.FinishReason, a.Endpoint = r.Error, r.FinishReason, r.Endpoint
	if a.Sent.OK {
		a.ConnectionReused, a.BytesSent = &r.ConnectionReused, &r.BytesSent
	}
	if a.Headers.OK {
		a.BytesReceived = &r.BytesReceived
	}
	if a.Status == record.StatusOK {
		a.OutputSHA256 = r.TextSHA256
	}
	return a
}

// stamp is t on the kernel's clock; both readings are monotonic.
func (o *observed) stamp(t time.Time) Stamp {
	if t.IsZero() {
		return Stamp{}
	}
	return At(t.Sub(o.epoch))
}
