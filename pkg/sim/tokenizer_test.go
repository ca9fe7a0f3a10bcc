package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/openai"
	"bgbench/pkg/token"
)

func TestTokenizerRendersEveryChatAsTheTemplateDoes(t *testing.T) {
	system := openai.Message{Role: "system", Content: "be brief"}
	user := openai.Message{Role: "user", Content: "why, though"}
	chats := map[string][]openai.Message{
		"no message":                          nil,
		"a user alone":                        {user},
		"a system prompt":                     {system, user},
		"the same system prompt again":        {system, {Role: "user", Content: "and then"}},
		"a system prompt alone":               {system},
		"two system prompts":                  {system, system, user},
		"a system prompt behind the user's":   {user, system},
		"an empty system prompt":              {{Role: "system"}, user},
		"a text of the system prompt, a user": {{Role: "user", Content: system.Content}, user},
	}
	var tokenizer Tokenizer
	for round := range 2 {
		for name, messages := range chats {
			var want []uint32
			for _, m := range messages {
				want = token.AppendMessage(want, token.Message{Role: m.Role, Content: m.Content})
			}
			want = token.AppendReply(want)
			call := tokenizer.NewCall("id", &openai.ChatRequest{Messages: messages})
			if !slices.Equal(call.Prompt.IDs(), want) {
				t.Errorf("round %d, %s: got ids %d, want %d", round, name, call.Prompt.IDs(), want)
			}
			if call.Output() != OutputOf(PromptOf(want)) {
				t.Errorf("round %d, %s: the output is not the one of the prompt", round, name)
			}
		}
	}
}

func TestTokenizerForgetsNothingItGaveAway(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var tokenizer Tokenizer
	first := tokenizer.NewCall("a", chat(random, "system prompt"))
	kept := first.Prompt.IDs()
	for range maxKnownPrefixes + 10 {
		tokenizer.NewCall("b", &openai.ChatRequest{Messages: []openai.Message{{Role: "system", Content: words(random, 3)}}})
	}
	if !slices.Equal(first.Prompt.IDs(), kept) {
		t.Error("the prompt of an earlier call has changed")
	}
	if n := len(tokenizer.known); n != maxKnownPrefixes {
		t.Errorf("the tokenizer remembers %d system prompts, want %d at most", n, maxKnownPrefixes)
	}
}

func TestAPromptThatWasGivenBackBecomesAnotherOne(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var tokenizer Tokenizer
	for i := range 200 {
		request := chat(random, "system prompt")
		call := tokenizer.NewCall("a", request)
		want := NewCall("a", request)
		if !slices.Equal(call.Prompt.IDs(), want.Prompt.IDs()) || call.Output() != want.Output() {
			t.Fatalf("call %d: the ids are not those of its text", i)
		}
		if i%3 > 0 {
			tokenizer.Reuse(call)
		}
	}
	first := tokenizer.NewCall("a", chat(random, "system prompt"))
	tokenizer.Reuse(first)
	if second := tokenizer.NewCall("b", chat(random, "system prompt")); &second.Prompt.rest[0] != &first.Prompt.rest[0] {
		t.Error("the memory of the first prompt was not used again")
	}
}

func TestTextIsTheTokensOneAfterTheOther(t *testing.T) {
	for _, o := range []Output{OutputOf(Prompt{}), OutputOf(PromptOf([]uint32{7})), OutputOf(PromptOf([]uint32{1, 2, 3}))} {
		var want strings.Builder
		for n := range 200 {
			if got := o.Text(n); got != want.String() {
				t.Fatalf("Text(%d) = %q, want %q", n, got, want.String())
			}
			if got := string(o.AppendText([]byte("so:"), n)); got != "so:"+want.String() {
				t.Fatalf("AppendText(%d) = %q, want %q", n, got, "so:"+want.String())
			}
			want.WriteString(o.Token(n))
		}
	}
}

func TestWordsOfOutputsFitTheirPlace(t *testing.T) {
	for _, word := range outputWords {
		if len(word) > longestWord {
			t.Errorf("%q has %d bytes, want %d at most", word, len(word), longestWord)
		}
	}
}
