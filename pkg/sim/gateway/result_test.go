package gateway

import (
	"bytes"
	"encoding/json"
	"testing"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
)

// TestBodiesAreWrittenWithSortedKeys: the processor reads a body into a map and
// writes it again; what spares the map must give the same bytes.
func TestBodiesAreWrittenWithSortedKeys(t *testing.T) {
	call := &sim.Call{ID: "batch_req_1", Model: "m<1>", Prompt: sim.PromptOf([]uint32{1, 2, 3})}
	end := sim.End{Status: 200, FinishReason: "length", Usage: sim.Usage{PromptTokens: 3, CachedTokens: 1, OutputTokens: 12}}
	fast := resultOf(call, end, "", 1764000000)
	raw, err := json.Marshal(sim.Completion(call, end, 1764000000))
	if err != nil {
		t.Fatal(err)
	}
	if fast, slow := fast.appendBody(nil), answerOf(raw); !bytes.Equal(fast, slow.body) {
		t.Errorf("answer\n%s, through a map\n%s", fast, slow.body)
	}
	if fast.usage == nil || fast.usage.PromptTokens != 3 || fast.usage.CompletionTokens != 12 {
		t.Errorf("usage %+v", fast.usage)
	}

	refusal := sim.End{Status: 400, ErrorType: "BadRequestError", Message: `too long: "x"`}
	raw, err = json.Marshal(sim.ErrorBody(refusal))
	if err != nil {
		t.Fatal(err)
	}
	withBody := refusal
	withBody.Body = raw
	if fast, slow := resultOf(call, refusal, "", 0), resultOf(call, withBody, "", 0); !bytes.Equal(fast.body, slow.body) {
		t.Errorf("refusal\n%s, through a map\n%s", fast.body, slow.body)
	}
}

func TestResultLines(t *testing.T) {
	cases := map[string]struct {
		result result
		want   string
	}{
		"an answer": {
			result{hasResponse: true, status: 200, body: []byte(`{"a":1}`)},
			`{"id":"batch_req_1","custom_id":"<é>","response":{"status_code":200,"request_id":"batch_req_1","body":{"a":1}},"error":null}` + "\n",
		},
		"an error": {
			failure(codeServer, `Post "http://b": EOF`),
			`{"id":"batch_req_1","custom_id":"<é>","response":null,"error":{"code":"SERVER_ERROR","message":"Post \"http://b\": EOF"}}` + "\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := c.result.append(nil, "batch_req_1", "<é>")
			var line, want openai.BatchOutput
			if err := json.Unmarshal(got, &line); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			marshalled, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(marshalled)+"\n" {
				t.Errorf("%s, encoding/json writes %s", got, marshalled)
			}
		})
	}
}
