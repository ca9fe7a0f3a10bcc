package gateway

import (
	"encoding/json"
	"errors"

	"bgbench/pkg/batchfile"
	"bgbench/pkg/openai"
)

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
	read := batchfile.Line{CustomID: s.customID, Method: s.method, URL: s.url, Model: s.model, Stream: s.stream}
	if fault, ok := read.Fault(); ok {
		return line{}, errors.New(fault.Processor)
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
	l, err := batchfile.Decode([]byte(text))
	if err != nil {
		return scanned{}, err
	}
	s := scanned{customID: l.CustomID, method: l.Method, url: l.URL, model: l.Model, stream: l.Stream}
	for _, m := range l.Messages {
		s.messages = append(s.messages, openai.Message(m))
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
