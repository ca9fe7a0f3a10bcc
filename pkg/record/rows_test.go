package record

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// someRows makes n rows of which about half the nullable values are null.
func someRows[T Row](n int) []T {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	rows := make([]T, n)
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for f := range row.NumField() {
			fill(random, row.Field(f))
		}
	}
	return rows
}

func fill(random *rand.Rand, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = []string{"", "a", "wörter", fmt.Sprint(random.IntN(1000))}[random.IntN(4)]
	case *bool:
		*p = random.IntN(2) == 0
	case *int32:
		*p = random.Int32N(3) - 1
	case *int64:
		*p = random.Int64N(5) - 2
	case *float64:
		*p = float64(random.IntN(5)) / 4
	case *time.Time:
		*p = time.UnixMicro(1_790_000_000_000_000 + random.Int64N(1e12)).UTC()
	case *[]float32:
		for range random.IntN(4) {
			*p = append(*p, random.Float32())
		}
	case *[]int32:
		for range random.IntN(4) {
			*p = append(*p, random.Int32N(3))
		}
	default:
		if random.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(random, v.Elem())
		}
	}
}

func collect[T Row](t *testing.T, rows iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := any(&row).(*Request); ok { // an empty list may come back as nil or not
			r.ChunkGapS, r.ChunkTokens = slices.Concat(r.ChunkGapS), slices.Concat(r.ChunkTokens)
		}
		out = append(out, row)
	}
	return out
}

func readAll[T Row](t *testing.T, path string) []T {
	t.Helper()
	r, err := ReadFile[T](path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return collect(t, r.All())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// goldenRequest has a value of each type, and nulls.
func goldenRequest() Request {
	due := time.Date(2026, 11, 29, 12, 0, 0, 1000, time.UTC)
	sent := time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.UTC)
	ttft, ok, cycle, empty := 0.25, int32(200), int32(0), ""
	return Request{
		Experiment: "x", Arm: "s2-ungated", Trial: 1, Seed: 42, Class: ClassInteractive, RequestID: "r", Attempt: 1,
		DueAt: &due, SentAt: &sent, TTFTS: &ttft, Cycle: &cycle, HTTPStatus: &ok,
		ChunkGapS: []float32{0.5, 0.25}, ChunkTokens: []int32{1, 2, 3},
		Status: StatusOK, OutputSHA256: &empty,
	}
}

// wantError holds the parts of an error's text against it, in order.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("found no error, expected %q", parts)
	}
	rest := err.Error()
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("found error %q, expected %q in it", err, parts)
		}
		rest = after
	}
}
