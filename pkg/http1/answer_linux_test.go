package http1

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// answers are what servers send, or attackers. The connection is closed after each.
var answers = map[string]string{
	"a body with a length":                         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello",
	"an empty body":                                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"chunks":                                       chunkedHead + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
	"chunks with extensions":                       chunkedHead + "5;a=b;c=\"d\"\r\nhello\r\n1 \t\r\n!\r\n0;end\r\n\r\n",
	"a space before an extension":                  chunkedHead + "5 ;a\r\nhello\r\n0\r\n\r\n",
	"upper and lower case digits":                  chunkedHead + "A\r\n0123456789\r\nb\r\n0123456789a\r\n00\r\n\r\n",
	"leading zeros":                                chunkedHead + "0000000000000005\r\nhello\r\n0\r\n\r\n",
	"too many digits":                              chunkedHead + "00000000000000005\r\nhello\r\n0\r\n\r\n",
	"a chunk of more than an integer":              chunkedHead + "ffffffffffffffff\r\nhello",
	"a trailer":                                    chunkedHead + "5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
	"a trailer that was announced":                 "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n",
	"a trailer without colon":                      chunkedHead + "0\r\nno\r\n\r\n",
	"a trailer that is cut":                        chunkedHead + "0\r\nX-Sum: 1\r\n",
	"a trailer that is too long":                   chunkedHead + "0\r\nX: " + strings.Repeat("x", 5000) + "\r\n\r\n",
	"a trailer that may not be announced":          "HTTP/1.1 200 OK\r\nTrailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"an end without its empty line":                chunkedHead + "5\r\nhello\r\n0\r\n",
	"half of the last line":                        chunkedHead + "5\r\nhello\r\n0\r\n\r",
	"no last chunk":                                chunkedHead + "5\r\nhello\r\n",
	"a chunk that is cut":                          chunkedHead + "5\r\nhel",
	"a chunk without its end":                      chunkedHead + "5\r\nhello",
	"a chunk with another end":                     chunkedHead + "5\r\nhello!!0\r\n\r\n",
	"a chunk with half an end":                     chunkedHead + "5\r\nhello\r",
	"a line that ends with LF":                     chunkedHead + "5\nhello\r\n0\r\n\r\n",
	"a line that is LF":                            chunkedHead + "\nhello\r\n0\r\n\r\n",
	"an empty line for a length":                   chunkedHead + "\r\nhello\r\n0\r\n\r\n",
	"a CR in a line":                               chunkedHead + "5;\r;\r\nhello\r\n0\r\n\r\n",
	"a length that is none":                        chunkedHead + "5g\r\nhello\r\n0\r\n\r\n",
	"a negative length":                            chunkedHead + "-1\r\nhello\r\n0\r\n\r\n",
	"a sign":                                       chunkedHead + "+5\r\nhello\r\n0\r\n\r\n",
	"a prefix":                                     chunkedHead + "0x5\r\nhello\r\n0\r\n\r\n",
	"an extension that is too long":                chunkedHead + "5;" + strings.Repeat("x", 5000) + "\r\nhello\r\n0\r\n\r\n",
	"many long extensions":                         chunkedHead + strings.Repeat("1;"+strings.Repeat("x", 2000)+"\r\nx\r\n", 20) + "0\r\n\r\n",
	"many small chunks":                            chunkedHead + strings.Repeat("1\r\nx\r\n", 500) + "0\r\n\r\n",
	"no chunk at all":                              chunkedHead,
	"nothing":                                      "",
	"a part of the status line":                    "HTTP/1.1 20",
	"a part of the headers":                        "HTTP/1.1 200 OK\r\nContent-Le",
	"headers without their empty line":             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
	"a body that is cut":                           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
	"more than the length":                         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, world",
	"no length":                                    "HTTP/1.1 200 OK\r\n\r\nuntil the end",
	"no length and no body":                        "HTTP/1.1 200 OK\r\n\r\n",
	"HTTP/1.0":                                     "HTTP/1.0 200 OK\r\n\r\nuntil the end",
	"HTTP/1.0 with a length":                       "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
	"HTTP/1.0 with chunks":                         "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"another version":                              "HTTP/3.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"a version that is none":                       "HTTP/1.x 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"another protocol":                             "SSH-2.0-OpenSSH_9.2\r\n",
	"an empty line first":                          "\r\nHTTP/1.1 200 OK\r\n\r\n",
	"a status without reason":                      "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
	"a status of four digits":                      "HTTP/1.1 2000 OK\r\n\r\n",
	"a status of letters":                          "HTTP/1.1 abc OK\r\n\r\n",
	"a negative status":                            "HTTP/1.1 -20 OK\r\n\r\n",
	"a header without colon":                       "HTTP/1.1 200 OK\r\nno\r\n\r\n",
	"a header without name":                        "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
	"a header with a control character":            "HTTP/1.1 200 OK\r\nA: \x01\r\n\r\n",
	"a space before the colon":                     "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello",
	"a space before the first header":              "HTTP/1.1 200 OK\r\n A: 1\r\n\r\n",
	"a header that goes on in the next line":       "HTTP/1.1 200 OK\r\nA: 1\r\n  2\r\n\t3\r\nContent-Length: 0\r\n\r\n",
	"a line of blanks in the headers":              "HTTP/1.1 200 OK\r\nA: 1\r\n  \r\nContent-Length: 2\r\n\r\nhi",
	"lines that end with LF":                       "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
	"an empty line that is LF":                     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\nhello\n\r\n",
	"an empty line in the body":                    "HTTP/1.1 200 OK\nContent-Length: 9\n\nhello\r\n\r\n",
	"two equal lengths":                            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
	"two lengths":                                  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
	"lengths in a list":                            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
	"a length with a sign":                         "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
	"an empty length":                              "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
	"a length below zero":                          "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
	"a length and chunks":                          "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"two encodings":                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	"chunked twice":                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"another encoding":                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi",
	"Chunked in other letters":                     "HTTP/1.1 200 OK\r\ntransfer-encoding: CHUNKED\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
	"Connection: close":                            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
	"204":                                          "HTTP/1.1 204 No Content\r\n\r\n",
	"204 with a body":                              "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi",
	"304 with a length":                            "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n",
	"304 with chunks":                              "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
	"a redirection":                                "HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
	"100 Continue before the answer":               "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
	"early hints and processing before the answer": "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
	"100 Continue and no answer":                   "HTTP/1.1 100 Continue\r\n\r\n",
	"interim answers without end":                  strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("x", 1000)+"\r\n\r\n", 80),
	"another protocol that nobody asked for":       "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	"large headers":                                "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 20_000) + "\r\nContent-Length: 2\r\n\r\nhi",
	"a line with a CR at the end of a buffer":      "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", headRoom-len("HTTP/1.1 200 OK\r\nA: \r")) + "\r\nContent-Length: 2\r\n\r\nhi",
	"headers that are too large":                   "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", headLimit) + "\r\nContent-Length: 2\r\n\r\nhi",
	"a status line that is too large":              "HTTP/1.1 200 " + strings.Repeat("x", headLimit) + "\r\nContent-Length: 2\r\n\r\nhi",
}

// pieces cuts text in pieces of a size; the first one of another.
func pieces(text string, first, size int) (cut []string) {
	for len(text) > 0 {
		n := min(first, len(text))
		cut, text = append(cut, text[:n]), text[n:]
		first = size
	}
	return cut
}

func TestAnAnswerMeansWhatItMeansToNetHTTP(t *testing.T) {
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				var said atomic.Pointer[[]string]
				p := newPeer(t, "unixpacket", func(p *talk) {
					if p.request() != nil {
						p.say(*said.Load()...)
					}
				})
				const packet = 30_000 // what the socket passes on as one
				whole := pieces(answer, packet, packet)
				said.Store(&whole)
				want := do(t, p.theirs(t), method)
				ways := map[string][]string{"at once": whole}
				if len(answer) < 3000 {
					ways["a byte a read"] = pieces(answer, 1, 1)
					for i := 1; i < len(answer) && i < 300 && method == http.MethodGet; i++ {
						ways[fmt.Sprintf("cut after %d bytes", i)] = pieces(answer, i, packet)
					}
				} else {
					ways["in pieces of 999 bytes"] = pieces(answer, 999, 999)
				}
				for way, cut := range ways {
					said.Store(&cut)
					if got := do(t, p.ours(t), method); got != want {
						t.Errorf("%s, %s: found %+v, expected %+v", method, way, shortened(got), shortened(want))
					}
				}
			}
		})
	}
}

func shortened(o outcome) outcome {
	return outcome{fmt.Sprintf("%.300s", o.head), fmt.Sprintf("%.300s", o.body), o.err}
}

// FuzzAnswer holds this package against net/http on any bytes that a server may send.
func FuzzAnswer(f *testing.F) {
	for _, answer := range answers {
		if len(answer) < 3000 {
			f.Add([]byte(answer), uint8(7), false)
		}
	}
	var said atomic.Pointer[[]string]
	say := func(pieces []string) { said.Store(&pieces) }
	p := newPeer(f, "unixpacket", func(p *talk) {
		if p.request() != nil {
			p.say(*said.Load()...)
		}
	})
	f.Fuzz(func(t *testing.T, answer []byte, size uint8, head bool) {
		if len(answer) > 3000 {
			return
		}
		method := http.MethodGet
		if head {
			method = http.MethodHead
		}
		say(pieces(string(answer), 3000, 3000))
		theirs := do(t, p.theirs(t), method)
		say(pieces(string(answer), max(1, int(size)), max(1, int(size))))
		ours := do(t, p.ours(t), method)
		if strings.HasPrefix(theirs.head, "HTTP/1.1 101 ") || strings.HasPrefix(theirs.head, "HTTP/1.0 101 ") {
			theirs.body = "" // what follows is of another protocol
		}
		if ours != theirs {
			t.Errorf("found %+v, expected %+v", ours, theirs)
		}
	})
}
