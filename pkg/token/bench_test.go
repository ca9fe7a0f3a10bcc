package token

import (
	"strings"
	"testing"
)

func BenchmarkAppend(b *testing.B) {
	text := strings.Repeat("soft rain falls over the old town and its 12 bridges, ", 200)
	ids := Append(nil, text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		ids = Append(ids[:0], text)
	}
	b.ReportMetric(float64(len(ids)*b.N)/b.Elapsed().Seconds(), "tokens/s")
}
