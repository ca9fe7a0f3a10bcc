package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"
)

func TestScannerReadsWhatServersSend(t *testing.T) {
	// Chunks of vLLM, SGLang and llm-d-inference-sim: none of them may need encoding/json.
	for name, data := range map[string]string{
		"vLLM's role chunk":       `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null}`,
		"vLLM's content chunk":    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" a"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`,
		"vLLM's last chunk":       `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"."},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3,"prompt_tokens_details":null}}`,
		"vLLM's usage chunk":      `{"id":"c","choices":[],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":2}}}`,
		"a chunk with reasoning":  `{"choices":[{"index":0,"delta":{"content":null,"reasoning":"t","reasoning_content":"t"},"finish_reason":null}]}`,
		"a chunk with log probs":  `{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1.25e-05,"bytes":[97],"top_logprobs":[{"token":"\n","logprob":-12.5,"bytes":null}]}]},"finish_reason":null}]}`,
		"a chunk with a tool":     `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},"finish_reason":null}]}`,
		"a completion":            `{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":" a","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}`,
		"escapes":                 `{"choices":[{"delta":{"content":"\"\\\/\b\f\n\r\té\u00e9\ud83d\ude00 😀"}}]}`,
		"blanks":                  " { \"choices\" : [ { \"delta\" : { \"content\" : \"a\" } } ] ,\r\n\t\"usage\" : null } ",
		"an empty object":         `{}`,
		"an error that is null":   `{"error":null,"choices":[]}`,
		"an answer without usage": `{"choices":[{"delta":{"tool_calls":[],"content":"x"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var scanned, decoded chunk
			var s chunkScanner
			if !s.chunk([]byte(data), &scanned) {
				t.Fatal("the scanner gave up")
			}
			if err := decodeChunk([]byte(data), &decoded); err != nil {
				t.Fatal(err)
			}
			compareChunks(t, &scanned, &decoded)
		})
	}
}

func TestChunksOfOtherShapesAreReadByEncodingJSON(t *testing.T) {
	for name, c := range map[string]struct {
		data               string
		content, reasoning string
		failure            string
	}{
		"keys in other case":             {data: `{"Choices":[{"Delta":{"Content":"a"}}]}`, content: "a"},
		"keys with escapes":              {data: `{"ch\u006fices":[{"delta":{"content":"a"}}]}`, content: "a"},
		"a key twice, the last counts":   {data: `{"choices":[{"delta":{"content":"a","content":"b"}}]}`, content: "b"},
		"several choices":                {data: `{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`, content: "ab"},
		"half a surrogate pair":          {data: `{"choices":[{"delta":{"content":"a\ud83dz"}}]}`, content: "a\ufffdz"},
		"broken UTF-8":                   {data: "{\"choices\":[{\"delta\":{\"content\":\"a\xffz\"}}]}", content: "a\ufffdz"},
		"vLLM's error object":            {data: `{"error":{"message":"boom","type":"InternalServerError","param":null,"code":500}}`, failure: "boom"},
		"an error that is a text":        {data: `{"error":"boom","error_type":"overloaded"}`, failure: "boom"},
		"an error without a message":     {data: `{"error":{"code":7}}`, failure: `{"code":7}`},
		"the error object of old vLLM":   {data: `{"object":"error","message":"boom","type":"BadRequestError","code":400}`, failure: "boom"},
		"an old error without a message": {data: `{"object":"error"}`, failure: `{"object":"error"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var p chunkParser
			var found chunk
			if p.scan.chunk([]byte(c.data), &found) {
				t.Error("the scanner did not give up")
			}
			if err := p.parse([]byte(c.data), &found); err != nil {
				t.Fatal(err)
			}
			if string(found.content) != c.content || string(found.reasoning) != c.reasoning || found.failed != (c.failure != "") || found.failure != c.failure {
				t.Errorf("found %+v", found)
			}
		})
	}
}

func TestBrokenChunksAreErrors(t *testing.T) {
	for _, data := range []string{
		``, `x`, `{`, `{"choices"`, `{"choices":[`, `{"choices":[{"delta":{"content":"a`, `{"choices":[]}x`, `{"choices":[],}`,
		`{"choices":{}}`, `{"choices":[{"delta":{"content":5}}]}`, `{"usage":{"prompt_tokens":"5"}}`, `{"usage":{"prompt_tokens":1.5}}`,
		`{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"a":tru}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}", `{"a" 1}`, `{a:1}`, `[]`, `5`,
	} {
		var p chunkParser
		var c chunk
		if err := p.parse([]byte(data), &c); err == nil {
			t.Errorf("%s: found no error", data)
		}
	}
}

func compareChunks(t *testing.T, scanned, decoded *chunk) {
	t.Helper()
	switch {
	case !bytes.Equal(scanned.content, decoded.content),
		!bytes.Equal(scanned.reasoning, decoded.reasoning),
		scanned.toolCall != decoded.toolCall,
		!bytes.Equal(scanned.finish, decoded.finish),
		scanned.usage != decoded.usage,
		scanned.hasUsage != decoded.hasUsage,
		scanned.cached != decoded.cached,
		scanned.thought != decoded.thought,
		scanned.fault != decoded.fault,
		scanned.failed != decoded.failed,
		scanned.failure != decoded.failure:
		t.Errorf("the scanner found %+v, encoding/json %+v", *scanned, *decoded)
	}
}

// FuzzChunkScanner holds the scanner against encoding/json: what it understands, it
// understands alike.
func FuzzChunkScanner(f *testing.F) {
	for _, seed := range chunkSeeds(f) {
		f.Add(seed)
	}
	var s chunkScanner
	f.Fuzz(func(t *testing.T, data []byte) {
		var scanned, decoded chunk
		if !s.chunk(data, &scanned) {
			return
		}
		if err := decodeChunk(data, &decoded); err != nil {
			t.Fatalf("the scanner understood what encoding/json refuses: %v", err)
		}
		compareChunks(t, &scanned, &decoded)
	})
}

// chunkSeeds are the JSON objects of all recorded streams.
func chunkSeeds(tb testing.TB) (seeds [][]byte) {
	data, err := os.ReadFile("testdata/sse/cases.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct{ Cases []streamCase }
	if err := json.Unmarshal(data, &file); err != nil {
		tb.Fatal(err)
	}
	streams := [][]byte{bytes.Join(vllmStream(3), nil)}
	for _, c := range file.Cases {
		var stream []byte
		for _, read := range c.Reads {
			part, err := base64.StdEncoding.DecodeString(read)
			if err != nil {
				tb.Fatal(err)
			}
			stream = append(stream, part...)
		}
		streams = append(streams, stream)
	}
	for _, file := range []string{"chat-stream-usage.body", "completions-stream.body"} {
		stream, err := os.ReadFile("testdata/inference-sim/" + file)
		if err != nil {
			tb.Fatal(err)
		}
		streams = append(streams, stream)
	}
	for _, stream := range streams {
		d := NewDecoder(bytes.NewReader(stream), nil)
		for {
			e, err := d.Next()
			if err != nil {
				break
			}
			seeds = append(seeds, bytes.Clone(e.Data))
		}
	}
	return seeds
}
