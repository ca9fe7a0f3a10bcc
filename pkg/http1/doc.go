// Package http1 is an http.RoundTripper for HTTP/1.1 that measures streams at little cost:
// thousands at once, of which each brings many small chunks.
//
// net/http reads a connection on one goroutine and writes it on another, keeps two buffers
// for each and copies every chunk twice. Here the goroutine of the caller dials, writes and
// reads; a connection that waits has no buffer, and a burst of chunks lies in one of a pool
// from which the reader takes them in place:
//
//	client := &http.Client{Transport: &http1.Transport{Dial: dial}}
//	resp, err := client.Do(req)
//	body := resp.Body.(*http1.Body) // an io.ReadCloser, too
//	piece, at, err := body.NextPiece() // at is the instant of the socket's read
//
// What a message means is left to net/http: http.Request.Write writes requests and
// http.ReadResponse reads the heads of answers. Ours are the connections, the framing of
// bodies and the rule when a request is sent again, which is that of net/http: never once a
// byte of it has left, unless its method or an Idempotency-Key says that twice is as good as
// once. The tests hold all this against net/http on the same bytes.
//
// It does not speak HTTP/2, use proxies, wait for 100 Continue or hand out trailers and
// connections that switch protocols; pkg/openai turns to net/http for what of that it needs.
// It follows no redirect and asks for no compression.
//
// valyala/fasthttp (v1.78) was looked at in its place. Its client knows no context and no
// net/http/httptrace, so that a request could neither be cancelled nor be timed; a stream
// keeps a bufio.Reader to its end and copies each chunk out of it.
package http1
