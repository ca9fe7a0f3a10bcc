package http1

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sent is a request as it reached a server, and the address that was dialled for it.
type sent struct{ text, address string }

// TestARequestIsThatOfNetHTTP compares what the two clients write, and where.
func TestARequestIsThatOfNetHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		url    string
		change func(r *http.Request)
		want   []string // lines that it has
		none   []string // what it has not
		dial   string
	}{
		"a name and a port":    {url: "http://model:8000/v1?a=b%20c", want: []string{"POST /v1?a=b%20c HTTP/1.1", "Host: model:8000", "Content-Length: 4"}, none: []string{"Accept-Encoding", "Connection"}, dial: "model:8000"},
		"no port":              {url: "http://model/", want: []string{"Host: model"}, dial: "model:80"},
		"an empty port":        {url: "http://model:/", want: []string{"Host: model"}, dial: "model:80"},
		"no path":              {url: "http://model", want: []string{"POST / HTTP/1.1"}, dial: "model:80"},
		"IPv6":                 {url: "http://[::1]:8000/", want: []string{"Host: [::1]:8000"}, dial: "[::1]:8000"},
		"IPv6 without a port":  {url: "http://[2001:db8::7]/", want: []string{"Host: [2001:db8::7]"}, dial: "[2001:db8::7]:80"},
		"IPv6 with a zone":     {url: "http://[fe80::1%25eth0]:8000/", want: []string{"Host: [fe80::1]:8000"}, dial: "[fe80::1%eth0]:8000"},
		"letters beyond ASCII": {url: "http://bücher.example:81/", want: []string{"Host: xn--bcher-kva.example:81"}, dial: "xn--bcher-kva.example:81"},
		"a user in the URL":    {url: "http://me:k3y@model/", want: []string{"Host: model", "Authorization: Basic bWU6azN5"}, dial: "model:80"},
		"a fragment":           {url: "http://model/a#b", want: []string{"POST /a HTTP/1.1"}, dial: "model:80"},
		"a host of its own":    {url: "http://10.0.0.7:80/", change: func(r *http.Request) { r.Host = "model.example" }, want: []string{"Host: model.example"}, none: []string{"10.0.0.7"}, dial: "10.0.0.7:80"},
		"headers that are no others": {url: "http://model/", change: func(r *http.Request) {
			r.Header = http.Header{"Host": {"x"}, "Content-Length": {"9"}, "Transfer-Encoding": {"gzip"}, "A": {" b\t"}}
		}, want: []string{"Host: model", "Content-Length: 4", "A: b"}, none: []string{"gzip", "Content-Length: 9"}, dial: "model:80"},
		"the end of the connection": {url: "http://model/", change: func(r *http.Request) { r.Close = true }, want: []string{"Connection: close"}, dial: "model:80"},
		"a body of unknown length":  {url: "http://model/", change: func(r *http.Request) { r.ContentLength = -1 }, want: []string{"Transfer-Encoding: chunked"}, none: []string{"Content-Length"}, dial: "model:80"},
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan string, 1)
			p := newPeer(t, "tcp", func(p *talk) {
				var text strings.Builder
				p.in = bufio.NewReader(io.TeeReader(p.Conn, &text))
				if p.request() != nil {
					heard <- text.String()
					p.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				}
			})
			var address string
			dial := p.dial
			p.dial = func(ctx context.Context, network, to string) (*Socket, error) {
				address = to
				return dial(ctx, network, to)
			}
			send := func(client *http.Client) sent {
				req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				if c.change != nil {
					c.change(req)
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				return sent{<-heard, address}
			}
			ours, theirs := send(p.ours(t)), send(p.theirs(t))
			if ours != theirs {
				t.Errorf("found %+v, expected %+v", ours, theirs)
			}
			if ours.address != c.dial {
				t.Errorf("dialled %s, expected %s", ours.address, c.dial)
			}
			for _, line := range c.want {
				if !strings.Contains(ours.text, line+"\r\n") {
					t.Errorf("found %q, expected %q in it", ours.text, line)
				}
			}
			for _, line := range c.none {
				if strings.Contains(ours.text, line) {
					t.Errorf("found %q, expected no %q", ours.text, line)
				}
			}
		})
	}
}
