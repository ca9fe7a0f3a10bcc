package token

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkAppend reads a text of 200,000 tokens whose words come in no order that a
// processor could learn, as they do in prompts.
func BenchmarkAppend(b *testing.B) {
	words := strings.Fields("soft rain falls over the old town and its twelve bridges while nobody at home reads a letter " +
		"that you wrote in spring, nor does it matter much. another day will come; we have always known")
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 200_000 {
		text.WriteString(words[random.IntN(len(words))])
		text.WriteByte(' ')
	}
	ids := Append(nil, text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		ids = Append(ids[:0], text.String())
	}
	b.ReportMetric(float64(len(ids)*b.N)/b.Elapsed().Seconds(), "tokens/s")
}
