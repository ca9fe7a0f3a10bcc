package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// The benchmarks below hold the client against the least that could do its work. The
// server runs in a process of its own, so that the processor time of this one is the
// client's.
const benchServerVariable = "BG_BENCH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(benchServerVariable) == "" {
		os.Exit(m.Run())
	}
	server, err := newSelfServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.URL)
	io.Copy(io.Discard, os.Stdin) // until the benchmark is over
}

// benchServer starts the server and returns its address.
func benchServer(b *testing.B) string {
	b.Helper()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), benchServerVariable+"=1")
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		server.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// benchPrompt is one for all requests: those of a run lie in a file.
var benchPrompt = strings.Repeat("word ", 1200)

// benchRequest is a request with a prompt of 6 KB.
func benchRequest() *Request {
	return &Request{ID: "r", Timeout: time.Minute, Chat: &openai.ChatRequest{
		Model: "self", Stream: true, StreamOptions: streamOptions(), MaxTokens: 100,
		Messages: []openai.Message{{Role: "user", Content: benchPrompt}},
	}}
}

// benchClient is the transport of a run.
func benchClient(b *testing.B, url string, tokens int, gap time.Duration) HTTPTransport {
	b.Helper()
	c, err := Connection{Header: http.Header{
		selfTokensHeader: {fmt.Sprint(tokens)}, selfGapHeader: {gap.String()},
	}}.open(url, "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.close)
	return newHTTPTransport(kernel.NewWall(), c.inference)
}

// rawStream is the smallest correct reader of a stream: a connection, and a search for
// the ends of events.
type rawStream struct {
	conn    net.Conn
	request []byte
	buf     []byte
}

func newRawStream(b *testing.B, url string, tokens int, gap time.Duration) *rawStream {
	b.Helper()
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	body := strings.Repeat("x", 6100)
	return &rawStream{conn: conn, buf: make([]byte, 0, 16<<10), request: fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s: %d\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
		openai.ChatPath, host, selfTokensHeader, tokens, selfGapHeader, gap, len(body), body)}
}

var (
	eventEnd = []byte("\n\n")
	bodyEnd  = []byte("\r\n0\r\n\r\n")
)

// follow sends the request and counts the events of its answer.
func (r *rawStream) follow() (events int, err error) {
	if _, err := r.conn.Write(r.request); err != nil {
		return 0, err
	}
	r.buf = r.buf[:0]
	for {
		n, err := r.conn.Read(r.buf[len(r.buf):cap(r.buf)])
		if err != nil {
			return events, err
		}
		r.buf = r.buf[:len(r.buf)+n]
		over := bytes.HasSuffix(r.buf, bodyEnd)
		rest := r.buf
		for {
			i := bytes.Index(rest, eventEnd)
			if i < 0 {
				break
			}
			events++
			rest = rest[i+2:]
		}
		if over {
			return events, nil
		}
		r.buf = r.buf[:copy(r.buf, rest)]
	}
}

// at runs f in so many goroutines, the start of each so long after that of the last.
func at(n int, apart time.Duration, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			time.Sleep(time.Duration(i) * apart)
			f(i)
		})
	}
	all.Wait()
}

// leastCPU is the processor time of this process during ours and during bare, which take
// turns: the least of some rounds each, because what else the machine does only ever adds
// to it.
func leastCPU(ours, bare func()) (oursCPU, bareCPU time.Duration) {
	cpuOf := func(f func()) time.Duration {
		before := cpuTime()
		f()
		return cpuTime() - before
	}
	ours() // makes the connections
	bare()
	oursCPU, bareCPU = math.MaxInt64, math.MaxInt64
	for range 5 {
		oursCPU, bareCPU = min(oursCPU, cpuOf(ours)), min(bareCPU, cpuOf(bare))
	}
	return oursCPU, bareCPU
}

// BenchmarkClientPerToken is the processor time of a streamed token, against a raw
// connection with a byte scan: streams that come at a pace, and in one burst. The aim is
// a ratio of 1.5.
func BenchmarkClientPerToken(b *testing.B) {
	url := benchServer(b)
	for _, c := range []struct {
		name            string
		streams, tokens int
		gap             time.Duration
	}{
		{"at 100 tokens a second", 100, 100, 10 * time.Millisecond},
		{"in one burst", 20, 4000, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			client := benchClient(b, url, c.tokens, c.gap)
			raw := make([]*rawStream, c.streams)
			for i := range raw {
				raw[i] = newRawStream(b, url, c.tokens, c.gap)
			}
			ours := func(int) {
				if a := client.attempt(context.Background(), benchRequest()); a.Status != record.StatusOK || len(a.ChunkTokens) != c.tokens {
					b.Errorf("found %s %s with %d chunks", a.Status, a.Error, len(a.ChunkTokens))
				}
			}
			bare := func(i int) {
				if events, err := raw[i].follow(); err != nil || events != c.tokens+3 {
					b.Errorf("found %d events: %v", events, err)
				}
			}
			// Spread over a gap, so that the tokens of neither side come in step.
			apart := c.gap / time.Duration(c.streams)
			for b.Loop() {
				oursCPU, bareCPU := leastCPU(func() { at(c.streams, apart, ours) }, func() { at(c.streams, apart, bare) })
				tokens := float64(c.streams) * float64(c.tokens)
				b.ReportMetric(float64(oursCPU)/tokens, "ns/token")
				b.ReportMetric(float64(bareCPU)/tokens, "bare-ns/token")
				b.ReportMetric(float64(oursCPU)/float64(bareCPU), "ratio")
			}
		})
	}
}

// BenchmarkClientPerRequest is the processor time of a request with an answer of one
// token, against a bare loop over net/http that reads the answer and looks at nothing.
// The aim is a ratio of 1.5.
func BenchmarkClientPerRequest(b *testing.B) {
	const workers, each = 8, 100
	url := benchServer(b)
	client := benchClient(b, url, 1, 0)
	plain := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}}
	b.Cleanup(plain.CloseIdleConnections)
	body := strings.Repeat("x", 6100)
	ours := func(int) {
		for range each {
			if a := client.attempt(context.Background(), benchRequest()); a.Status != record.StatusOK {
				b.Errorf("found %s %s", a.Status, a.Error)
			}
		}
	}
	bare := func(int) {
		for range each {
			req, err := http.NewRequest(http.MethodPost, url+openai.ChatPath, strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set(selfTokensHeader, "1")
			resp, err := plain.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	for b.Loop() {
		oursCPU, bareCPU := leastCPU(func() { at(workers, 0, ours) }, func() { at(workers, 0, bare) })
		b.ReportMetric(float64(oursCPU)/workers/each/1e3, "µs/request")
		b.ReportMetric(float64(bareCPU)/workers/each/1e3, "bare-µs/request")
		b.ReportMetric(float64(oursCPU)/float64(bareCPU), "ratio")
	}
}

// BenchmarkClientMemory is what a stream takes while 2,000 are open. The aim is 40 KB.
func BenchmarkClientMemory(b *testing.B) {
	const streams = 2000
	url := benchServer(b)
	for b.Loop() {
		client := benchClient(b, url, 25, 200*time.Millisecond)
		debug.FreeOSMemory()
		before := residentKB()
		var peak float64
		var ended sync.WaitGroup
		attempts := make([]Attempt, streams)
		for i := range attempts { // which open within a second
			ended.Go(func() {
				time.Sleep(time.Duration(i) * time.Second / streams)
				attempts[i] = *client.attempt(context.Background(), benchRequest())
			})
		}
		over := make(chan struct{})
		go func() {
			ended.Wait()
			close(over)
		}()
		for watching := true; watching; {
			select {
			case <-over:
				watching = false
			case <-time.After(50 * time.Millisecond):
				peak = max(peak, residentKB())
			}
		}
		b.ReportMetric((peak-before)/streams, "KB/stream")
		b.ReportMetric(float64(openAtOnce(b, attempts)), "streams-at-once")
	}
}

// openAtOnce is how many of the streams were open when the first of them ended.
func openAtOnce(b *testing.B, attempts []Attempt) (open int) {
	first := slices.MinFunc(attempts, func(a, b Attempt) int { return cmp.Compare(a.Done.Time, b.Done.Time) })
	for _, a := range attempts {
		if a.Status != record.StatusOK {
			b.Errorf("found %s %s", a.Status, a.Error)
		}
		if a.FirstToken.OK && a.FirstToken.Time < first.Done.Time {
			open++
		}
	}
	return open
}

// residentKB is the resident memory of this process: of Linux, elsewhere what the Go
// runtime has from the system.
func residentKB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	var size, resident float64
	if err == nil {
		if _, err = fmt.Sscan(string(text), &size, &resident); err == nil {
			return resident * float64(os.Getpagesize()) / 1024
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys-m.HeapReleased) / 1024
}
