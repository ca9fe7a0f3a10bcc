package sim

import (
	"math/rand/v2"
	"strings"
	"testing"

	"bgbench/pkg/openai"
)

// chat is a request of 2,000 words under a system prompt and 1,500 of a user.
func chat(random *rand.Rand, system string) *openai.ChatRequest {
	return &openai.ChatRequest{Model: "m", MaxTokens: 500, Messages: []openai.Message{
		{Role: "system", Content: system}, {Role: "user", Content: words(random, 1500)},
	}}
}

func words(random *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(outputWords[random.IntN(len(outputWords))])
	}
	return b.String()
}

func BenchmarkNewCall(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	system := words(random, 2000)
	var chats []*openai.ChatRequest
	for range 256 {
		chats = append(chats, chat(random, strings.Clone(system)))
	}
	b.Run("every text anew", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			NewCall("id", chats[i%len(chats)])
		}
	})
	b.Run("system prompt remembered", func(b *testing.B) {
		b.ReportAllocs()
		var t Tokenizer
		for i := 0; b.Loop(); i++ {
			t.NewCall("id", chats[i%len(chats)])
		}
	})
}

func BenchmarkAppendText(b *testing.B) {
	o := OutputOf(PromptOf([]uint32{1, 2, 3}))
	var text []byte
	for b.Loop() {
		text = o.AppendText(text[:0], 500)
	}
	b.SetBytes(int64(len(text)))
}
