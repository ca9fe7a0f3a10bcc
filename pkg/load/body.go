package load

import (
	"slices"
	"strconv"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
)

// appendBody appends the JSON of a request, as encoding/json would word it. That goes over
// the texts three times, and they are nearly all of it (BenchmarkClientPerRequest).
func appendBody(dst []byte, r *openai.ChatRequest) []byte {
	const rest = 512 // what a body takes beside its texts, mostly
	texts := 0
	for _, m := range r.Messages {
		texts += len(m.Content)
	}
	dst = slices.Grow(dst, texts+rest)
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
	dst = append(dst, ']')
	if r.MaxTokens != 0 {
		dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), int64(r.MaxTokens), 10)
	}
	if r.MinTokens != 0 {
		dst = strconv.AppendInt(append(dst, `,"min_tokens":`...), int64(r.MinTokens), 10)
	}
	if r.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	if r.Stream {
		dst = append(dst, `,"stream":true`...)
	}
	if o := r.StreamOptions; o != nil {
		dst = strconv.AppendBool(append(dst, `,"stream_options":{"include_usage":`...), o.IncludeUsage)
		if o.ContinuousUsageStats {
			dst = append(dst, `,"continuous_usage_stats":true`...)
		}
		dst = append(dst, '}')
	}
	if t := r.Temperature; t != nil {
		dst = strconv.AppendFloat(append(dst, `,"temperature":`...), *t, 'g', -1, 64)
	}
	if r.Priority != 0 {
		dst = strconv.AppendInt(append(dst, `,"priority":`...), int64(r.Priority), 10)
	}
	if r.CacheSalt != "" {
		dst = inputs.AppendString(append(dst, `,"cache_salt":`...), r.CacheSalt)
	}
	return append(dst, '}')
}
