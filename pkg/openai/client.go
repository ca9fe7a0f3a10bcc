package openai

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"bgbench/pkg/http1"
	"bgbench/pkg/record"
)

// Client sends completion requests and watches the answers come in. It is safe for
// concurrent use and must not be copied after its first use.
type Client struct {
	BaseURL string // without /v1
	// HTTP sends the requests; nil makes one with NewStreamClient. Its own Timeout must
	// not be set: it would not say which part of a request took too long.
	HTTP     *http.Client
	APIKey   Secret
	Header   http.Header // on each request
	Timeouts Timeouts
	Clock    func() time.Time // nil is time.Now
	// MaxAnswerBytes bounds an answer; 0 is DefaultAnswerLimit.
	MaxAnswerBytes int64

	once    sync.Once
	readers sync.Pool
	bodies  sync.Pool
}

// DefaultAnswerLimit bounds an answer: 100 times what 16,384 tokens with usage
// on each chunk take.
const DefaultAnswerLimit = 512 << 20

// Call is one request.
type Call struct {
	Path string // empty is /v1/chat/completions
	Body []byte // JSON
	// Encode appends the body to memory of the client's, which it uses again; it stands in
	// for Body where it is not nil.
	Encode func(dst []byte) []byte
	Header http.Header // besides the client's
}

// ChatPath is the path of chat completions.
const ChatPath = "/v1/chat/completions"

// Observer is told about a request while it is under way. Its methods are called
// one after the other, in the order of their names here, and never after Stream
// has returned. Sent comes on a goroutine of the HTTP client, but no call overlaps
// another one of the same request. They must not block: the stream waits for them.
type Observer interface {
	// Sent says that the last byte of the request was handed to the socket: at is the
	// instant before that, so that no answer comes before it.
	Sent(at time.Time, reused bool)
	// Headers says that the answer began: at is the instant of its first byte.
	Headers(at time.Time, status int, header http.Header)
	// Chunk says that a chunk with output left the socket at an instant.
	Chunk(at time.Time, tokens int)
}

// Result is what became of a request. Instants are zero for what did not happen.
type Result struct {
	Outcome
	HTTPStatus    int    // 0 without an answer
	DroppedReason string // x-llm-d-request-dropped-reason
	Endpoint      string // the model server that answered, where the answer names it

	StartedAt time.Time // Stream was called
	SentAt    time.Time
	HeadersAt time.Time

	ConnectionReused bool
	BytesSent        int64 // of the request's body, once it was sent
	BytesReceived    int64 // of the answer's body
}

// Stream sends a request and follows its answer to the end. An error is a result
// like another: it has a status. An answer that does not stream is read whole; it
// has no chunks. A bound of Timeouts ends the request as timeout, and so does the
// context with its deadline; anything else that ends the context, as cancelled. The
// observer may be nil.
func (c *Client) Stream(ctx context.Context, call Call, observer Observer) (r Result) {
	r.StartedAt = c.now()
	defer func() { r.Error = c.APIKey.hideIn(r.Error) }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dog := newWatchdog(c.Timeouts, c.now, r.StartedAt, cancel)
	defer func() {
		// An answer that was whole when the watchdog barked is whole.
		if bitten := dog.end(); bitten != "" && r.Status == record.StatusCancelled {
			r.Status, r.Error = record.StatusTimeout, bitten
		}
	}()
	body := c.body(call)
	sent := int64(len(body.data))
	t := &trace{clock: c.now, observer: observer, dog: dog}
	defer t.close()
	req, err := c.request(httptrace.WithClientTrace(ctx, t.hooks()), call, body)
	if err != nil {
		c.broken(ctx, &r, err)
		return r
	}
	resp, err := c.client().Do(req)
	if err != nil {
		t.into(&r, sent)
		c.broken(ctx, &r, err)
		return r
	}
	defer resp.Body.Close()

	t.answered()
	dog.gotHeaders()
	body.release()
	t.into(&r, sent)
	r.HTTPStatus = resp.StatusCode
	r.DroppedReason = resp.Header.Get(HeaderDroppedReason)
	r.Endpoint = resp.Header.Get(HeaderInferencePod)
	if observer != nil {
		observer.Headers(r.HeadersAt, resp.StatusCode, resp.Header)
	}
	answer := &answerBody{r: resp.Body, left: c.answerLimit()}
	answer.pieces, _ = resp.Body.(pieceSource)
	defer func() { r.BytesReceived = answer.read }()

	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		c.refusal(ctx, &r, resp, answer)
	case !readable(resp.Header):
		r.Status, r.DoneAt = record.StatusProtocolError, c.now()
		r.Error = shorten(compressed(resp.Header))
	case kind == "application/json":
		c.whole(ctx, &r, answer)
	default:
		c.follow(ctx, cancel, &r, answer, t.readClock(resp), watched(dog, observer))
		if r.Status == record.StatusProtocolError && r.FirstChunkAt.IsZero() && kind != "text/event-stream" && kind != "" {
			r.Error = shorten(r.Error + "; it is " + kind) // a page of another server, often
		}
	}
	return r
}

// follow reads a stream. It takes the result by reference, as the others do: a stream
// that waits keeps the frames of its functions (BenchmarkClientMemory in pkg/load).
func (c *Client) follow(ctx context.Context, cancel func(), r *Result, body *answerBody, clock func() time.Time, onChunk func(time.Time, int)) {
	reader := c.reader()
	defer c.readers.Put(reader)
	var source io.Reader = body
	if body.pieces != nil {
		source = piecewise{body}
	}
	reader.begin(source, clock, onChunk)
	r.Outcome = reader.stream.Follow(reader.decoder)
	switch {
	case r.Status == record.StatusTransportError:
		why := r.Error
		c.broken(ctx, r, reader.decoder.err)
		if r.Status == record.StatusTransportError {
			r.Error = why
		}
	case reader.stream.sawDone:
		drain(body, cancel)
	}
}

// readable reports whether an answer is not compressed: the time of a chunk that comes by way
// of a compressor would be that of the compressor.
func readable(header http.Header) bool {
	encoding := header.Get("Content-Encoding")
	return encoding == "" || strings.EqualFold(encoding, "identity")
}

// compressed says that an answer is not readable.
func compressed(header http.Header) string {
	return "found an answer in content encoding " + header.Get("Content-Encoding") + ", which was not asked for"
}

// watched is who hears of chunks: the observer, and the watchdog where there is one.
func watched(dog *watchdog, observer Observer) func(time.Time, int) {
	switch {
	case dog == nil && observer == nil:
		return nil
	case dog == nil:
		return observer.Chunk
	case observer == nil:
		return func(at time.Time, _ int) { dog.chunk(at) }
	}
	return func(at time.Time, tokens int) {
		dog.chunk(at)
		observer.Chunk(at, tokens)
	}
}

// refusal reads the body of an answer that is not 200.
func (c *Client) refusal(ctx context.Context, r *Result, resp *http.Response, body io.Reader) {
	data, err := io.ReadAll(io.LimitReader(body, errorBodyLimit))
	r.DoneAt = c.now()
	if ctx.Err() != nil && err != nil {
		c.broken(ctx, r, err)
		return
	}
	r.Status = RefusalStatus(r.HTTPStatus, r.DroppedReason)
	r.Error = refusalMessage(resp, data)
}

// RefusalStatus is the status of a request that was answered with an HTTP status
// other than 200. The llm-d router says in x-llm-d-request-dropped-reason why it
// dropped a request: rejected-saturated and the like before it was dispatched,
// evicted after. It sends 429 for most and 503 when the pool is empty.
func RefusalStatus(code int, droppedReason string) string {
	switch {
	case strings.HasPrefix(droppedReason, "rejected"):
		return record.StatusRejected
	case strings.HasPrefix(droppedReason, "evicted"):
		return record.StatusEvicted
	case code == http.StatusTooManyRequests:
		return record.StatusRateLimited
	}
	return record.StatusHTTPError
}

// whole reads an answer that does not stream.
func (c *Client) whole(ctx context.Context, r *Result, body io.Reader) {
	data, err := io.ReadAll(body)
	r.DoneAt = c.now()
	switch {
	case errors.Is(err, errAnswerTooLarge):
		r.Status, r.Error = record.StatusProtocolError, err.Error()
		return
	case err != nil:
		c.broken(ctx, r, err)
		return
	}
	at := r.DoneAt
	r.Outcome = decodeAnswer(data)
	r.DoneAt = at
}

// broken makes r the result of a request that was cut off by err.
func (c *Client) broken(ctx context.Context, r *Result, err error) {
	r.DoneAt = c.now()
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.Status, r.Error = record.StatusTimeout, TotalTimeout+" timeout: the deadline passed"
	case ctx.Err() != nil:
		r.Status, r.Error = record.StatusCancelled, "cancelled"
	case errors.As(err, &timeout) && timeout.Timeout():
		r.Status, r.Error = record.StatusTimeout, shorten(plainError(err))
		if r.SentAt.IsZero() { // the dialler's own bound, or that of the TLS handshake
			r.Error = ConnectTimeout + " timeout: " + r.Error
		}
	default:
		r.Status, r.Error = record.StatusTransportError, shorten(plainError(err))
	}
}

// plainError leaves out of an error what differs from request to request (URL,
// local port), so that equal failures read alike.
func plainError(err error) string {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		return err.Error()
	}
	if op.Op == "dial" && op.Addr != nil {
		return "dial " + op.Addr.String() + ": " + op.Err.Error()
	}
	return op.Op + ": " + op.Err.Error()
}

func (c *Client) body(call Call) *requestBody {
	if call.Encode == nil {
		return &requestBody{data: call.Body}
	}
	room, ok := c.bodies.Get().(*[]byte)
	if !ok {
		room = new([]byte)
	}
	return &requestBody{data: call.Encode((*room)[:0]), free: func(data []byte) {
		*room = data
		c.bodies.Put(room)
	}}
}

func (c *Client) request(ctx context.Context, call Call, body *requestBody) (*http.Request, error) {
	path := call.Path
	if path == "" {
		path = ChatPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.BaseURL, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	body.into(req)
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Content-Type", "application/json")
	prepare(req, c.APIKey, c.Header, call.Header)
	return req, nil
}

// prepare sets the headers that all requests have in common.
func prepare(req *http.Request, key Secret, headers ...http.Header) {
	req.Header.Set("User-Agent", "bgbench")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+string(key))
	}
	for _, h := range headers {
		for name, values := range h {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if host := req.Header.Get("Host"); host != "" { // which net/http takes from elsewhere
		req.Host = host
	}
}

func (c *Client) client() *http.Client {
	c.once.Do(func() {
		if c.HTTP == nil {
			c.HTTP = NewStreamClient(Dialling{Clock: c.Clock})
		}
	})
	return c.HTTP
}

func (c *Client) now() time.Time {
	if c.Clock == nil {
		return time.Now()
	}
	return c.Clock()
}

func (c *Client) answerLimit() int64 {
	if c.MaxAnswerBytes > 0 {
		return c.MaxAnswerBytes
	}
	return DefaultAnswerLimit
}

// streamReader is what one stream needs while it is open; a client keeps them for
// the next one.
type streamReader struct {
	decoder *Decoder
	stream  Stream
}

func (c *Client) reader() *streamReader {
	if r, ok := c.readers.Get().(*streamReader); ok {
		return r
	}
	return &streamReader{decoder: NewDecoder(nil, nil)}
}

// begin makes r ready for a stream. What it takes of the stack must not stay there while
// the stream waits (BenchmarkClientMemory in pkg/load).
//
//go:noinline
func (r *streamReader) begin(body io.Reader, clock func() time.Time, onChunk func(time.Time, int)) {
	r.decoder.Reset(body, clock)
	r.stream.Reset()
	r.stream.OnChunk = onChunk
}

// answerBody counts the bytes of an answer and ends it at a limit.
type answerBody struct {
	r          io.Reader
	pieces     pieceSource // r once more where it is one, else nil
	read, left int64
}

var errAnswerTooLarge = errors.New("answer is too large")

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.read += int64(n)
	if b.left -= int64(n); b.left < 0 {
		return max(0, n+int(b.left)), errAnswerTooLarge
	}
	return n, err
}

// piecewise is an answerBody that hands on pieces.
type piecewise struct{ *answerBody }

// NextPiece implements pieceSource.
func (p piecewise) NextPiece() ([]byte, time.Time, error) {
	piece, at, err := p.pieces.NextPiece()
	p.read += int64(len(piece))
	if p.left -= int64(len(piece)); p.left < 0 {
		return piece[:max(0, len(piece)+int(p.left))], at, errAnswerTooLarge
	}
	return piece, at, err
}

// drainTime and drainBytes bound what is read after [DONE]: normally the end of
// the chunked body, which frees the connection for the next request.
const (
	drainTime  = 100 * time.Millisecond
	drainBytes = 4 << 10
)

func drain(body io.Reader, cancel func()) {
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainBytes) // an answer that is whole stays whole
}

// trace gathers what net/http tells about one request, partly from goroutines of
// its own.
type trace struct {
	clock    func() time.Time
	observer Observer
	dog      *watchdog

	mu                         sync.Mutex
	conn                       net.Conn
	reused                     bool
	connected, sent, firstByte time.Time
	lastRead                   time.Time // of the whole answer, once the connection was given up
	closed                     bool
}

func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			at := t.clock()
			t.dog.gotConn(at)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.conn, t.reused, t.connected = info.Conn, info.Reused, at
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			at := t.clock()
			t.mu.Lock()
			defer t.mu.Unlock()
			if conn := http1.SocketOf(t.conn); conn != nil {
				at = conn.LastWrite()
			}
			if info.Err == nil {
				t.setSent(at)
			}
		},
		GotFirstResponseByte: func() {
			at := t.clock()
			t.mu.Lock()
			defer t.mu.Unlock()
			// The read that brought the headers may have brought the first chunk, too: both
			// get the instant of that read.
			if conn := http1.SocketOf(t.conn); conn != nil {
				at = conn.LastRead()
			}
			t.firstByte = at
		},
		// From here on the connection may be read for another request. The goroutine
		// that calls this hook is the one that would do so.
		PutIdleConn: func(error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if conn := http1.SocketOf(t.conn); conn != nil {
				t.lastRead = conn.LastRead()
			}
		},
	}
}

// setSent keeps the first instant: net/http sends a request again when an idle
// connection turns out to be closed.
func (t *trace) setSent(at time.Time) {
	if t.closed || !t.sent.IsZero() {
		return
	}
	t.sent = at
	if t.observer != nil {
		t.observer.Sent(at, t.reused)
	}
}

// answered makes up for hooks that the answer overtook: a server may answer before
// it has read the request.
func (t *trace) answered() {
	at := t.clock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.connected.IsZero() {
		t.connected = at // a transport without hooks
	}
	t.setSent(t.connected)
	if t.firstByte.IsZero() {
		t.firstByte = at
	}
}

func (t *trace) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// into copies what is known so far.
func (t *trace) into(r *Result, bodyBytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.SentAt, r.HeadersAt, r.ConnectionReused = t.sent, t.firstByte, t.reused
	if !t.sent.IsZero() {
		r.BytesSent = bodyBytes
	}
}

// readClock stamps reads of the answer: with the instant of the socket's read
// where that is known, else with the clock.
func (t *trace) readClock(resp *http.Response) func() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	conn := http1.SocketOf(t.conn)
	if conn == nil || resp.ProtoMajor != 1 {
		return t.clock
	}
	return func() time.Time {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.lastRead.IsZero() {
			return t.lastRead
		}
		return conn.LastRead()
	}
}
