package load

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"bgbench/pkg/openai"
)

// selfServer answers as a model server does that costs nothing: the requests of a
// self-test say in headers how many tokens they want and how far apart.
type selfServer struct {
	head, token, end []byte
}

const (
	selfTokensHeader = "X-Self-Tokens"
	selfGapHeader    = "X-Self-Gap"
)

func newSelfServer() *httptest.Server {
	event := func(delta, finish string) []byte {
		return fmt.Appendf(nil, `data: {"id":"chatcmpl-self","object":"chat.completion.chunk","created":1767225600,"model":"self","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	s := &selfServer{
		head:  event(`"role":"assistant","content":""`, "null"),
		token: event(`"content":" token"`, "null"),
		end:   append(event("", `"length"`), "data: [DONE]\n\n"...),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST "+openai.ChatPath, s.complete)
	return httptest.NewServer(mux)
}

func (s *selfServer) complete(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	io.Copy(io.Discard, r.Body)
	tokens, _ := strconv.Atoi(r.Header.Get(selfTokensHeader))
	gap, _ := time.ParseDuration(r.Header.Get(selfGapHeader))
	w.Header().Set("Content-Type", "text/event-stream")
	w.Write(s.head)
	for i := range tokens {
		if gap > 0 {
			// From the beginning, so that a late token shifts no other.
			time.Sleep(time.Until(began.Add(time.Duration(i+1) * gap)))
		}
		w.Write(s.token)
		if gap > 0 {
			w.(http.Flusher).Flush()
		}
	}
	w.Write(s.end)
}
