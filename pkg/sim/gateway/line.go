package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/openai"
)

// planRequestLine is what ingestion reads of an input line. Its name and shape are
// upstream's because encoding/json puts them into its errors.
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

// line is an input line after validation.
type line struct {
	customID string
	url      string
	model    string
	system   string // the system prompt by which lines are ordered, empty without one
	// body is what the inference server reads, nil when it takes encoding/json to
	// tell; then it is read when the line is sent.
	body *openai.ChatRequest
}

// parseLine reads and validates one input line, without its newline, as the
// processor's ingestion does; any error fails the whole job.
func parseLine(text string) (line, error) {
	s, ok := scanLine(text)
	if !ok {
		var err error
		if s, err = decodeLine(text); err != nil {
			return line{}, err
		}
	}
	switch {
	case s.customID == "":
		return line{}, errors.New("custom_id is required")
	case s.method == "":
		return line{}, errors.New("method is required")
	case s.method != "POST":
		return line{}, fmt.Errorf("invalid method: %s", s.method)
	case s.url == "":
		return line{}, errors.New("url is required")
	case !strings.HasPrefix(s.url, "/") || strings.HasPrefix(s.url, "//") || strings.Contains(s.url, "://"):
		return line{}, fmt.Errorf("url must be a relative path: %s", s.url)
	case !slices.Contains(batchEndpoints[:], s.url):
		return line{}, fmt.Errorf("invalid endpoint: %s", s.url)
	case s.model == "":
		return line{}, errors.New("model id is empty")
	case s.stream:
		return line{}, fmt.Errorf("streaming is not supported in batch requests (model: %s)", s.model)
	}
	l := line{customID: s.customID, url: s.url, model: s.model, system: systemPrompt(s.messages)}
	if ok && s.plain {
		l.body = s.request()
	}
	return l, nil
}

// ScanLine returns the custom_id and the chat request of an input line of the common
// shape. ok is false where it takes encoding/json to tell. The strings are parts of
// text.
func ScanLine(text string) (customID string, body *openai.ChatRequest, ok bool) {
	s, ok := scanLine(text)
	if !ok || !s.plain || s.model == "" {
		return "", nil, false
	}
	return s.customID, s.request(), true
}

// request is the body of a line that is plain.
func (s *scanned) request() *openai.ChatRequest {
	return &openai.ChatRequest{
		Model: s.model, Messages: s.messages, MaxTokens: s.maxTokens, MinTokens: s.minTokens, IgnoreEOS: s.ignoreEOS, CacheSalt: s.cacheSalt,
	}
}

func decodeLine(text string) (scanned, error) {
	var req planRequestLine
	if err := json.Unmarshal([]byte(text), &req); err != nil {
		return scanned{}, err
	}
	s := scanned{
		customID: req.CustomID, method: req.Method, url: req.URL,
		model: req.Body.Model, stream: req.Body.Stream != nil && *req.Body.Stream,
	}
	for _, m := range req.Body.Messages {
		s.messages = append(s.messages, openai.Message{Role: m.Role, Content: m.Content})
	}
	return s, nil
}

// decodeBody reads the body of a line as the inference server does.
func decodeBody(text string) (*openai.ChatRequest, error) {
	var l struct {
		Body openai.ChatRequest `json:"body"`
	}
	err := json.Unmarshal([]byte(text), &l)
	return &l.Body, err
}

// bodyOf is the body of a line as it stands there.
func bodyOf(text string) []byte {
	var l struct {
		Body json.RawMessage `json:"body"`
	}
	if json.Unmarshal([]byte(text), &l) != nil {
		return nil // ingestion has read the line: this cannot be
	}
	return l.Body
}
