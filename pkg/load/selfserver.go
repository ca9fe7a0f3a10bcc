package load

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"bgbench/pkg/openai"
)

// selfServer answers as a model server does that costs nothing: the requests of a
// self-test say in headers how many tokens they want and how far apart. It shares the
// processors with the client that is tested, so it speaks no more of HTTP/1.1 than that
// client does, and a chunk of a stream costs it one write.
type selfServer struct {
	URL string

	listener net.Listener
	running  sync.WaitGroup
	over     chan struct{}

	mu    sync.Mutex
	conns map[net.Conn]bool
	paces map[time.Duration]*pace
}

const (
	selfTokensHeader = "X-Self-Tokens"
	selfGapHeader    = "X-Self-Gap"
)

// An answer: its headers and the role chunk, a token, and its end. vLLM's server sends
// each event as a chunk of its own.
var selfHead, selfToken, selfEnd = func() (head, token, end []byte) {
	event := func(delta, finish string) []byte {
		return fmt.Appendf(nil, `data: {"id":"chatcmpl-self","object":"chat.completion.chunk","created":1767225600,"model":"self","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	chunk := func(data []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }
	head = append([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"), chunk(event(`"role":"assistant","content":""`, "null"))...)
	end = append(chunk(event("", `"length"`)), chunk([]byte("data: [DONE]\n\n"))...)
	return head, chunk(event(`"content":" token"`, "null")), append(end, "0\r\n\r\n"...)
}()

// newSelfServer starts a server on a free port of the loopback.
func newSelfServer() (*selfServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the server of a self-test: %w", err)
	}
	s := &selfServer{
		URL: "http://" + l.Addr().String(), listener: l, over: make(chan struct{}),
		conns: map[net.Conn]bool{}, paces: map[time.Duration]*pace{},
	}
	s.running.Go(s.accept)
	return s, nil
}

// Close ends the server and its connections.
func (s *selfServer) Close() {
	close(s.over)
	s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *selfServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		select {
		case <-s.over:
			conn.Close()
			return
		default:
		}
		s.running.Go(func() {
			s.serve(conn)
			conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// serve answers the requests of a connection, until it ends or sends something else.
func (s *selfServer) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		r, err := readSelfRequest(in)
		if err != nil {
			return
		}
		switch {
		case !r.completion:
			// Shards compare their clocks with the date.
			_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nDate: %s\r\n\r\n", time.Now().UTC().Format(http.TimeFormat))
		case r.gap > 0 && r.tokens > 0:
			if _, err = conn.Write(selfHead); err == nil {
				err = s.pace(r.gap).follow(conn, r.tokens, s.over)
			}
		default:
			err = burst(conn, r.tokens)
		}
		if err != nil {
			return
		}
	}
}

// burst writes a whole answer, some hundred chunks at a time.
func burst(conn net.Conn, tokens int) error {
	room := min(16<<10, len(selfHead)+tokens*len(selfToken)+len(selfEnd))
	out := append(make([]byte, 0, room), selfHead...)
	for range tokens {
		if len(out)+len(selfToken) > room {
			if _, err := conn.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
		out = append(out, selfToken...)
	}
	_, err := conn.Write(append(out, selfEnd...))
	return err
}

// selfRequest is what the server needs of a request.
type selfRequest struct {
	completion bool // or a question about its health
	tokens     int
	gap        time.Duration
}

// readSelfRequest reads a request and skips its body.
func readSelfRequest(in *bufio.Reader) (r selfRequest, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return r, err
	}
	r.completion = bytes.HasPrefix(line, []byte("POST "+openai.ChatPath+" "))
	length := 0
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return r, err
		}
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		if !ok {
			break
		}
		switch string(name) { // as net/http spells them
		case "Content-Length":
			length, err = strconv.Atoi(string(value))
		case selfTokensHeader:
			r.tokens, err = strconv.Atoi(string(value))
		case selfGapHeader:
			r.gap, err = time.ParseDuration(string(value))
		}
		if err != nil {
			return r, err
		}
	}
	_, err = in.Discard(length)
	return r, err
}

// pace writes the tokens of all streams that have one gap, on one goroutine: a step of a
// model server brings a token for each of its streams, too.
type pace struct {
	gap  time.Duration
	join chan *pacedStream
}

// pacedStream is a stream whose tokens are written by a pace.
type pacedStream struct {
	conn net.Conn
	due  time.Time // of the next token
	left int
	end  chan error
}

// paceStep is how often a pace looks for tokens that are due: they are late by half of it
// on average, and a wake-up brings some dozen at 50,000 a second.
const paceStep = time.Millisecond

// pace returns the pace of a gap.
func (s *selfServer) pace(gap time.Duration) *pace {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.paces[gap]
	if p == nil {
		p = &pace{gap: gap, join: make(chan *pacedStream)}
		s.paces[gap] = p
		s.running.Go(func() { p.run(s.over) })
	}
	return p
}

// follow lets the pace write a stream and returns when it has.
func (p *pace) follow(conn net.Conn, tokens int, over <-chan struct{}) error {
	s := &pacedStream{conn: conn, due: time.Now().Add(p.gap), left: tokens, end: make(chan error, 1)}
	select {
	case p.join <- s:
	case <-over:
		return net.ErrClosed
	}
	select {
	case err := <-s.end:
		return err
	case <-over:
		return net.ErrClosed
	}
}

func (p *pace) run(over <-chan struct{}) {
	// With one gap for all, the stream that was served first is due first again.
	var streams []*pacedStream
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for {
		wait := time.Hour
		if len(streams) > 0 {
			wait = max(paceStep, time.Until(streams[0].due))
		}
		wake.Reset(wait)
		select {
		case <-over:
			return
		case s := <-p.join:
			streams = append(streams, s)
			continue
		case <-wake.C:
		}
		for now := time.Now(); len(streams) > 0 && !streams[0].due.After(now); {
			s := streams[0]
			streams = streams[1:]
			if p.write(s) {
				streams = append(streams, s)
			}
		}
	}
}

// write writes the next token of a stream and reports whether there are more.
func (p *pace) write(s *pacedStream) (more bool) {
	s.left--
	s.due = s.due.Add(p.gap) // whatever the time is now: a late token shifts no other
	_, err := s.conn.Write(selfToken)
	if err == nil && s.left > 0 {
		return true
	}
	if err == nil {
		_, err = s.conn.Write(selfEnd)
	}
	s.end <- err
	return false
}
