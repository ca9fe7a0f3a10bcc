package openai

import (
	"bytes"
	"testing"
)

// usageChunk is a chunk with continuous usage.
const usageChunk = `{"id":"c","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3}}`

func TestAChunkLikeTheLastOneIsNotTakenApart(t *testing.T) {
	const reasoning = `{"choices":[{"delta":{"reasoning_content":"x"}}]}`
	for name, c := range map[string]struct {
		first, second string
		like          bool
	}{
		"another text":                   {usageChunk, `{"id":"c","choices":[{"index":0,"delta":{"content":" longer é"},"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3}}`, true},
		"a text with escapes":            {usageChunk, `{"id":"c","choices":[{"index":0,"delta":{"content":"\"\n\ud83d\ude00\\"},"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3}}`, true},
		"no text":                        {usageChunk, `{"id":"c","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3}}`, true},
		"other counts":                   {usageChunk, `{"id":"c","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":1005,"completion_tokens":1000}}`, true},
		"reasoning":                      {reasoning, `{"choices":[{"delta":{"reasoning_content":"y"}}]}`, true},
		"a completion":                   {`{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"bc"}]}`, true},
		"a finish reason in both":        {`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}`, true},
		"null for the text":              {usageChunk, `{"id":"c","choices":[{"index":0,"delta":{"content":null},"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3}}`, false},
		"a finish reason in the second":  {`{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}`, `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, false},
		"other prompt tokens":            {usageChunk, `{"id":"c","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}],"usage":{"prompt_tokens":6,"total_tokens":8,"completion_tokens":3}}`, false},
		"reasoning under both names":     {`{"choices":[{"delta":{"reasoning":"","reasoning_content":"x"}}]}`, `{"choices":[{"delta":{"reasoning":"y","reasoning_content":"x"}}]}`, false},
		"text under both names":          {`{"choices":[{"delta":{"content":""},"text":"a"}]}`, `{"choices":[{"delta":{"content":"b"},"text":"a"}]}`, false},
		"a count that is no integer":     {usageChunk, `{"id":"c","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":8.0,"completion_tokens":3}}`, false},
		"broken UTF-8":                   {usageChunk, "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":5,\"total_tokens\":8,\"completion_tokens\":3}}", false},
		"more after the object":          {usageChunk, usageChunk + "x", false},
		"an object that was cut":         {usageChunk, usageChunk[:len(usageChunk)-1], false},
		"a chunk without any of it":      {usageChunk, `{}`, false},
		"nothing":                        {usageChunk, ``, false},
		"a chunk above templateLimit":    {largeChunk("a"), largeChunk("b"), false},
		"an error after the same chunks": {usageChunk, `{"error":{"message":"boom"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var p chunkParser
			var found chunk
			if err := p.parse([]byte(c.first), &found); err != nil {
				t.Fatal(err)
			}
			if like := p.template.read(&p.scan, []byte(c.second), &found); like != c.like {
				t.Errorf("found the form of the template: %t", like)
			}
			afterAnother(t, &p, []byte(c.second))
		})
	}
}

func largeChunk(text string) string {
	return `{"choices":[{"delta":{"content":"` + text + `"},"logprobs":"` + string(bytes.Repeat([]byte("x"), templateLimit)) + `"}]}`
}

// afterAnother holds a parser that has read other chunks against encoding/json.
func afterAnother(t *testing.T, p *chunkParser, data []byte) {
	t.Helper()
	var found, decoded chunk
	err, wanted := p.parse(data, &found), decodeChunk(data, &decoded)
	if (err == nil) != (wanted == nil) {
		t.Fatalf("found error %v, encoding/json %v", err, wanted)
	}
	if err == nil {
		compareChunks(t, &found, &decoded)
	}
}

// FuzzChunkAfterChunk: what a chunk means does not depend on the chunks before it.
func FuzzChunkAfterChunk(f *testing.F) {
	seeds := chunkSeeds(f)
	for i := range seeds[1:] {
		f.Add(seeds[i], seeds[i+1])
	}
	f.Add([]byte(usageChunk), []byte(usageChunk))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var p chunkParser
		var c chunk
		_ = p.parse(first, &c) // whatever it is
		afterAnother(t, &p, second)
		afterAnother(t, &p, first)
	})
}
