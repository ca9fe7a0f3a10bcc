package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/engine"
	"bgbench/pkg/spec"
)

// startEngine serves a model of vLLM on the wall clock.
func startEngine(t *testing.T) (url string) {
	t.Helper()
	arm := spec.Engine{GPU: "H100", EnablePrefixCaching: true, EnableChunkedPrefill: true, AsyncScheduling: true}
	cfg, err := engine.ConfigOf(arm, "Qwen/Qwen2.5-1.5B", 2048)
	if err != nil {
		t.Fatal(err)
	}
	var backend struct{ sim.Backend }
	k, server := startInference(t, &backend)
	backend.Backend = engine.New(k, cfg)
	return server.URL
}

func chatBody(salt, more string) string {
	return fmt.Sprintf(`{"model":"Qwen/Qwen2.5-1.5B","messages":[{"role":"user","content":%q}],"max_tokens":20,"cache_salt":%q%s}`,
		strings.Repeat(" word", 200), salt, more)
}

// answerTo posts body and returns the whole answer.
func answerTo(t *testing.T, url, body string) openai.ChatCompletion {
	t.Helper()
	resp := post(t, url, body)
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("status %d, %v: %s", resp.StatusCode, err, text)
	}
	var answer openai.ChatCompletion
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestACacheSaltInTheBodyIsolatesThePrefixCacheAndNotTheText(t *testing.T) {
	url := startEngine(t)
	var texts []string
	for _, c := range []struct {
		name, salt string
		hit        bool
	}{
		{"the first of its prompt", "", false},
		{"the same prompt again", "", true},
		{"a salt of its own", "tenant-a", false},
		{"the same salt again", "tenant-a", true},
		{"another salt", "tenant-b", false},
	} {
		answer := answerTo(t, url, chatBody(c.salt, ""))
		texts = append(texts, answer.Choices[0].Message.Content)
		cached := answer.Usage.PromptTokensDetails.CachedTokens
		want := 0
		if c.hit { // all full blocks of 16 but the last token
			want = (answer.Usage.PromptTokens - 1) / 16 * 16
		}
		if cached != want {
			t.Errorf("%s: %d tokens cached, want %d", c.name, cached, want)
		}
	}
	for _, text := range texts[1:] {
		if text != texts[0] || text == "" {
			t.Errorf("got %q, want the text of the first answer, %q", text, texts[0])
		}
	}
}

func TestARetryAfterACutStreamEndsWithTheSameText(t *testing.T) {
	url := startEngine(t)
	resp := post(t, url, chatBody("", `,"stream":true`))
	events := bufio.NewReader(resp.Body)
	event(t, events) // the role
	first := event(t, events)
	resp.Body.Close() // cuts the stream, which aborts the request

	var chunk struct {
		Choices []struct{ Delta struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(first, "data: ")), &chunk); err != nil {
		t.Fatal(err)
	}
	begun := chunk.Choices[0].Delta.Content
	retried := answerTo(t, url, chatBody("", "")).Choices[0].Message.Content
	if begun == "" || !strings.HasPrefix(retried, begun) {
		t.Errorf("the retry says %q, the first attempt began with %q", retried, begun)
	}
	// On a server that has seen nothing, as the only request.
	if fresh := answerTo(t, startEngine(t), chatBody("", "")).Choices[0].Message.Content; fresh != retried {
		t.Errorf("another server says %q, the retry %q", fresh, retried)
	}
}
