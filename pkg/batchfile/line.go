package batchfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Line is what the gateway's processor reads of an input line when it takes a job in.
type Line struct {
	CustomID, Method, URL string
	Model                 string
	Stream                bool
	Messages              []Message
}

// Message is one turn of a line's chat.
type Message struct{ Role, Content string }

// IsEndpoint reports whether a line, or a batch, may name url.
func IsEndpoint(url string) bool { return slices.Contains(endpoints[:], url) }

// Chat is the endpoint of a chat completion.
const Chat = "/v1/chat/completions"

// endpoints are those of the llm-d batch gateway.
var endpoints = [...]string{"/v1/responses", Chat, "/v1/embeddings", "/v1/completions", "/v1/moderations"}

// Fault is what is wrong with one line.
type Fault struct {
	Field string // empty where the line as a whole is meant
	Text  string // what was found and what was expected
	// Processor is how the gateway's processor puts it.
	Processor string
}

// Fault returns the first rule that the line breaks, in the processor's order; ok is
// false where it breaks none. Any fault fails the whole job (llm-d batch gateway
// processor, validation of requests at ingestion).
func (l *Line) Fault() (_ Fault, ok bool) {
	switch {
	case l.CustomID == "":
		return Fault{"custom_id", "found nothing, expected an id", "custom_id is required"}, true
	case l.Method == "":
		return Fault{"method", "found nothing, expected POST", "method is required"}, true
	case l.Method != "POST":
		return Fault{"method", fmt.Sprintf("found %q, expected POST", l.Method), "invalid method: " + l.Method}, true
	case l.URL == "":
		return Fault{"url", "found nothing, expected an endpoint such as " + Chat, "url is required"}, true
	case !strings.HasPrefix(l.URL, "/") || strings.HasPrefix(l.URL, "//") || strings.Contains(l.URL, "://"):
		return Fault{"url", fmt.Sprintf("found %q, expected an endpoint without a host such as %s", l.URL, Chat), "url must be a relative path: " + l.URL}, true
	case !IsEndpoint(l.URL):
		return Fault{"url", fmt.Sprintf("found %q, expected one of %s", l.URL, strings.Join(endpoints[:], ", ")), "invalid endpoint: " + l.URL}, true
	case l.Model == "":
		return Fault{"body.model", "found nothing, expected the name of a model", "model id is empty"}, true
	case l.Stream:
		return Fault{"body.stream", "found true, expected false: an answer of a batch is not streamed",
			fmt.Sprintf("streaming is not supported in batch requests (model: %s)", l.Model)}, true
	}
	return Fault{}, false
}

// planRequestLine is what ingestion reads of an input line. Its name and shape are
// the processor's because encoding/json puts them into its errors.
type planRequestLine struct {
	CustomID string `json:"custom_id"`
	Method   string `json:"method"`
	URL      string `json:"url"`
	Body     struct {
		Model    string `json:"model"`
		Stream   *bool  `json:"stream"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	} `json:"body"`
}

// Decode reads a line, without its end. The error is the processor's: it takes no
// content but a plain string.
func Decode(text []byte) (Line, error) {
	var req planRequestLine
	if err := json.Unmarshal(text, &req); err != nil {
		return Line{}, err
	}
	l := Line{
		CustomID: req.CustomID, Method: req.Method, URL: req.URL,
		Model: req.Body.Model, Stream: req.Body.Stream != nil && *req.Body.Stream,
	}
	for _, m := range req.Body.Messages {
		l.Messages = append(l.Messages, Message{m.Role, m.Content})
	}
	return l, nil
}
