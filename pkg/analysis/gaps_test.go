package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestGapsAreCountedWithoutLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	many := func(n int, draw func() float32) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = draw()
		}
		return out
	}
	for _, c := range []struct {
		name   string
		values []float32
	}{
		{"none", nil},
		{"one", []float32{0.25}},
		{"nothing, the least, the most and what overflowed", []float32{float32(math.Inf(1)), math.MaxFloat32, 0, math.SmallestNonzeroFloat32}},
		{"the same gap more often than a byte counts", many(3*fewLows, func() float32 { return 0.02 })},
		{"a pile that is counted beside some that are listed", many(100_000, func() float32 {
			return float32(0.0156 + 0.0001*rng.Float64() + math.Floor(1.01*rng.Float64()))
		})},
		{"many octaves", many(200_000, func() float32 { return float32(0.02 * math.Exp(3*rng.NormFloat64())) })},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g gaps
			for part := range slices.Chunk(c.values, 1000) {
				g.add(part)
			}
			want, sum := slices.Sorted(slices.Values(c.values)), 0.0
			got := g.sorted()
			if got.len() != len(want) {
				t.Fatalf("found %d gaps, expected %d", got.len(), len(want))
			}
			for i, v := range want {
				sum += float64(v)
				if i%(1+len(want)/100) == 0 && got.at(i) != float64(v) {
					t.Fatalf("gap %d: found %v, expected %v", i, got.at(i), v)
				}
			}
			if got.sum() != sum {
				t.Errorf("sum: found %v, expected %v, as of the sorted values", got.sum(), sum)
			}
		})
	}
}

func TestSamplesAreSortedAsNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, fewKeys - 1, fewKeys, 3*maxBlock + 1} {
		var a, b, all sample
		var want []float64
		for i := range n {
			x := 0.1 * rng.NormFloat64()
			want = append(want, x)
			if i%3 == 0 {
				a.add(x)
			} else {
				b.addKnown(&x)
			}
		}
		b.addKnown(nil)
		all.include(&a)
		all.include(&b)
		slices.Sort(want)
		got, sum := all.sorted(), 0.0
		if got.len() != n || a.n+b.n != n {
			t.Fatalf("found %d values, expected %d", got.len(), n)
		}
		for i, x := range want {
			sum += x
			if got.at(i) != x {
				t.Fatalf("%d of %d: found %v, expected %v", i, n, got.at(i), x)
			}
		}
		if got.sum() != sum {
			t.Errorf("sum: found %v, expected %v", got.sum(), sum)
		}
		if first := a.sorted(); len(first) > 0 && first.at(0) < want[0] {
			t.Errorf("a sample that was included found %v below all", first.at(0))
		}
	}
}

func BenchmarkGaps(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	values := make([]float32, 1<<20)
	for i := range values {
		values[i] = float32(0.02 * math.Exp(0.4*rng.NormFloat64()))
	}
	b.ReportAllocs()
	for b.Loop() {
		var g gaps
		for range 8 {
			g.add(values)
		}
		if d := distribution(g.sorted(), "gaps", ""); d.N != 8<<20 {
			b.Fatalf("found %d gaps", d.N)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*8<<20), "ns/gap")
}
