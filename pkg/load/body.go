package load

import (
	"encoding/json"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
)

// appendBody appends the JSON of a request. encoding/json goes over the texts three
// times, and they are nearly all of it (BenchmarkClientPerRequest).
func appendBody(dst []byte, r *openai.ChatRequest) ([]byte, error) {
	dst = append(dst, `{"model":`...)
	dst = inputs.AppendString(dst, r.Model)
	dst = append(dst, `,"messages":[`...)
	for i, m := range r.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"role":`...)
		dst = inputs.AppendString(dst, m.Role)
		dst = append(dst, `,"content":`...)
		dst = inputs.AppendString(dst, m.Content)
		dst = append(dst, '}')
	}
	rest := *r
	rest.Model, rest.Messages = "", nil
	tail, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	// What is left begins like an empty request.
	dst = append(dst, ']')
	return append(dst, tail[len(`{"model":"","messages":null`):]...), nil
}

// bodyRoom is what a body takes beside its texts, mostly.
const bodyRoom = 512

func newBody(r *openai.ChatRequest) ([]byte, error) {
	n := bodyRoom
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return appendBody(make([]byte, 0, n), r)
}
