package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bgbench/pkg/openai"
)

func TestPromptsGiveEveryTokenizerWhatItWouldMake(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	system, user := words(random, 40), words(random, 90)
	chats := map[string][]openai.Message{
		"a user alone":                {{Role: "user", Content: user}},
		"a system prompt":             {{Role: "system", Content: system}, {Role: "user", Content: user}},
		"an empty system prompt":      {{Role: "system"}, {Role: "user", Content: user}},
		"a part of the text":          {{Role: "user", Content: user[:20]}},
		"another role":                {{Role: "assistant", Content: user}},
		"a system prompt as the user": {{Role: "user", Content: system}},
		"a turn more":                 {{Role: "system", Content: system}, {Role: "user", Content: user}, {Role: "assistant", Content: "so"}},
		"no text":                     {{Role: "user"}},
		"none":                        nil,
	}
	var prompts Prompts
	for arm := range 3 {
		tokenizer := Tokenizer{Prompts: &prompts}
		for name, messages := range chats {
			chat := &openai.ChatRequest{Messages: messages}
			got, want := tokenizer.NewCall("id", chat), NewCall("id", chat)
			if !slices.Equal(got.Prompt.IDs(), want.Prompt.IDs()) || got.Output() != want.Output() || got.PromptEstimate != want.PromptEstimate {
				t.Errorf("arm %d, %s: found the ids %d, want %d", arm, name, got.Prompt.IDs(), want.Prompt.IDs())
			}
			if shared, want := got.Shared(), want.Shared(); (shared == nil) != (want == nil) || shared != nil && shared.Len() != want.Len() {
				t.Errorf("arm %d, %s: found another shared prefix", arm, name)
			}
			tokenizer.Reuse(got) // of which nothing may reach the next chat
		}
	}
	if n := len(prompts.known); n != 4 {
		t.Errorf("found %d chats kept, want the 4 that are of the common kind", n)
	}
}

func TestPromptsKeepNoMoreThanTheyMay(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	prompts := Prompts{ids: maxKeptIDs - 10}
	tokenizer := Tokenizer{Prompts: &prompts}
	c := chat(random, "system prompt")
	for range 2 {
		if got, want := tokenizer.NewCall("id", c), NewCall("id", c); !slices.Equal(got.Prompt.IDs(), want.Prompt.IDs()) {
			t.Errorf("found the ids %d, want %d", got.Prompt.IDs(), want.Prompt.IDs())
		}
	}
	if len(prompts.known) != 0 {
		t.Error("a chat is kept beyond the bound")
	}
}

func TestACallThatGoesOnLeavesThePromptThatIsKept(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	tokenizer := Tokenizer{Prompts: new(Prompts)}
	c := chat(random, "system prompt")
	first := tokenizer.NewCall("a", c)
	want := first.Prompt.IDs()
	tokenizer.Reuse(first.Continue(3))
	tokenizer.NewCall("b", chat(random, "system prompt"))
	if again := tokenizer.NewCall("c", c); !slices.Equal(again.Prompt.IDs(), want) {
		t.Error("the prompt that is kept has changed")
	}
}
