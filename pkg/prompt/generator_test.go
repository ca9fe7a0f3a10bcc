package prompt

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bgbench/pkg/random"
	"bgbench/pkg/spec"
	"bgbench/pkg/token"
)

func profile(t testing.TB, sets ...string) spec.Profile {
	t.Helper()
	p, err := spec.LoadProfile("ci", sets)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type request struct {
	user string
	Length
}

func generator(t testing.TB, o Options) *Generator {
	t.Helper()
	if o.Counter == nil {
		o.Counter = token.Default{}
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func next(t testing.TB, g *Generator) Request {
	t.Helper()
	r, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func requests(t testing.TB, p spec.Profile, seed int64, purpose string, n int) []request {
	t.Helper()
	g := generator(t, Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: seed, Purpose: purpose})
	all := make([]request, n)
	for i := range all {
		r := next(t, g)
		all[i] = request{r.User, r.Length}
	}
	return all
}

func systems(s spec.SystemPrompts, seed int64, purpose string) []string {
	return Systems(s, seed, purpose, token.Default{})
}

func TestTextHasExactlyItsTokens(t *testing.T) {
	for _, r := range requests(t, profile(t), 42, "interactive", 500) {
		if got := token.Count(r.user); got != r.ISL {
			t.Fatalf("%d tokens were asked for, %q has %d", r.ISL, r.user, got)
		}
	}
	for _, text := range systems(spec.SystemPrompts{Count: 3, Tokens: 777}, 42, "x") {
		if got := token.Count(text); got != 777 {
			t.Errorf("a system prompt of 777 tokens has %d", got)
		}
	}
}

func TestRequestFitsTheContext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := spec.Profile{
			Prompt: spec.Prompt{
				ISL: spec.Distribution{Type: spec.Uniform, Min: rapid.IntRange(1, 50).Draw(t, "isl min")},
				OSL: spec.Distribution{Type: spec.Uniform, Min: rapid.IntRange(1, 50).Draw(t, "osl min")},
			},
		}
		p.Prompt.ISL.Max = p.Prompt.ISL.Min + rapid.IntRange(0, 200).Draw(t, "isl spread")
		p.Prompt.OSL.Max = p.Prompt.OSL.Min + rapid.IntRange(0, 200).Draw(t, "osl spread")
		least := p.Prompt.Overhead() + p.Prompt.ISL.Min + p.Prompt.OSL.Min
		p.MaxModelLen = least + rapid.IntRange(0, 300).Draw(t, "room")
		g, err := New(Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: 1, Counter: token.Default{}})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			r, err := g.Next()
			if err != nil {
				t.Fatal(err)
			}
			user, l := r.User, r.Length
			chat := token.CountChat([]token.Message{{Role: "user", Content: user}})
			if chat+l.OSL > p.MaxModelLen {
				t.Fatalf("%d prompt and %d output tokens do not fit %d", chat, l.OSL, p.MaxModelLen)
			}
			if l.ISL < p.Prompt.ISL.Min || l.OSL < p.Prompt.OSL.Min {
				t.Fatalf("%+v was cut below the shortest", l)
			}
		}
	})
}

func TestContextCutsThePromptBeforeTheAnswer(t *testing.T) {
	p := profile(t, "prompt.isl={type: fixed, mean: 400, sd: 0}", "prompt.osl={type: fixed, mean: 200, sd: 0}", "maxModelLen=800")
	room := 800 - p.Prompt.Overhead() // 531 tokens
	for name, test := range map[string]struct {
		drawn, want Length
	}{
		"what fits is left alone":                   {Length{331, 200}, Length{331, 200}},
		"the prompt gives way first":                {Length{400, 200}, Length{room - 200, 200}},
		"the answer only below the shortest prompt": {Length{400, 600}, Length{10, room - 10}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fit(test.drawn, p.Prompt.ISL.Min, room); got != test.want {
				t.Errorf("%+v became %+v, want %+v", test.drawn, got, test.want)
			}
		})
	}
	g := generator(t, Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: 1})
	next(t, g)
	if g.ISL().CappedShare() != 1 || g.OSL().CappedShare() != 0 || g.ISL().ClippedShare() != 0 {
		t.Errorf("the tallies say %+v and %+v", g.ISL(), g.OSL())
	}
}

func TestStreamsAreNamedByPurpose(t *testing.T) {
	p := profile(t)
	first := requests(t, p, 42, "interactive", 50)
	if !reflect.DeepEqual(first, requests(t, p, 42, "interactive", 50)) {
		t.Error("the same seed and purpose give two results")
	}
	if reflect.DeepEqual(first, requests(t, p, 42, "job A", 50)) || reflect.DeepEqual(first, requests(t, p, 43, "interactive", 50)) {
		t.Error("another purpose or seed gives the same requests")
	}
	// Another distribution of answers leaves the prompts as they were.
	for i, r := range requests(t, profile(t, "prompt.osl.mean=100"), 42, "interactive", 50) {
		if r.user != first[i].user {
			t.Fatalf("request %d has another text", i)
		}
	}
	if reflect.DeepEqual(systems(p.Prompt.SystemPrompts, 42, "x"), systems(p.Prompt.SystemPrompts, 43, "x")) {
		t.Error("two seeds have the same system prompts")
	}
	shared := spec.SystemPrompts{Count: 2, Tokens: 5}
	if !reflect.DeepEqual(systems(shared, 42, "job A"), systems(shared, 42, "job B")) {
		t.Error("two jobs do not share their system prompts")
	}
	shared.Own = true
	if reflect.DeepEqual(systems(shared, 42, "job A"), systems(shared, 42, "job B")) {
		t.Error("two jobs share system prompts that are to be their own")
	}
}

func TestPromptsDifferFromTheirFirstBlockOn(t *testing.T) {
	// A prefix cache of 16-token blocks must find nothing but system prompts.
	seen := map[string]bool{}
	for _, r := range requests(t, profile(t, "prompt.isl.min=16"), 42, "interactive", 5000) {
		block := strings.Join(strings.Fields(r.user)[:16], " ")
		if seen[block] {
			t.Fatalf("two prompts begin with %q", block)
		}
		seen[block] = true
	}
}

func TestVocabularyIsPlainAndFixed(t *testing.T) {
	words := vocabulary()
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Error("the words are not sorted or not unique")
	}
	ids := map[uint32]string{}
	for _, w := range words {
		if !lowerCase(w) || len(w) < 2 || len(w) > maxLetters {
			t.Errorf("%q is no short lower-case word", w)
		}
		id := token.Append(nil, w)
		if len(id) != 1 || ids[id[0]] != "" {
			t.Errorf("%q has the ids %d, as has %q", w, id, ids[id[0]])
		}
		ids[id[0]] = w
	}
	for _, w := range strings.Fields(split) {
		if slices.Contains(words, w) {
			t.Errorf("%q is in spite of its two tokens", w)
		}
	}
	// An update of the library that changes its words changes all inputs: published
	// ones would not be reproduced any more.
	w := newWriter(random.Stream(42, "known answer"), token.Default{})
	text := string(w.append(nil, 8))
	if len(words) != 734 || text != "range hen pause group fear smell far swim" {
		t.Errorf("found %d words and the text %q", len(words), text)
	}
}

func BenchmarkText(b *testing.B) {
	w := newWriter(random.Stream(1, "bench"), token.Default{})
	const tokens = 1500
	buf := w.append(nil, tokens)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = w.append(buf[:0], tokens)
	}
	b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkGenerator(b *testing.B) {
	p := profile(b)
	g := generator(b, Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: 1})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += next(b, g).ISL
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tokens/s")
}

func TestARequestOfAGivenLengthIsThatLongWhereItFits(t *testing.T) {
	p := profile(t, "maxModelLen=800")
	room := 800 - p.Prompt.Overhead()
	for name, test := range map[string]struct{ asked, want Length }{
		"it fits":                          {Length{3, 500}, Length{3, 500}},
		"below the shortest of the drawn":  {Length{1, 1}, Length{1, 1}},
		"the prompt gives way":             {Length{5000, 200}, Length{room - 200, 200}},
		"an answer longer than everything": {Length{5000, 9000}, Length{1, room - 1}},
	} {
		g := generator(t, Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: 1})
		r, err := g.Sized(test.asked)
		if n := token.Count(r.User); err != nil || r.Length != test.want || n != r.ISL || g.ISL().N != 1 || g.OSL().N != 1 {
			t.Errorf("%s: %+v became %+v of %d tokens (%v), want %+v", name, test.asked, r.Length, n, err, test.want)
		}
	}
}
