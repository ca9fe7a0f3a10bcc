package prompt

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bgbench/pkg/corpus"
	"bgbench/pkg/spec"
	"bgbench/pkg/token"
)

func TestTurnsOfAConversationHaveThoseBeforeAsTheirHistory(t *testing.T) {
	p := profile(t, "prompt.isl={type: fixed, mean: 20, sd: 0}", "prompt.osl={type: fixed, mean: 10, sd: 0}",
		"prompt.conversation={turns: 3, open: 2, context: 50}", "maxModelLen=4096")
	g := generator(t, Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: 1})
	var all []Request
	for range 12 {
		all = append(all, next(t, g))
	}
	for i, r := range all {
		turn := i / 2 % 3
		if want := i/6*2 + i%2; r.Conversation != want || len(r.History) != 2*turn {
			t.Errorf("request %d is of conversation %d with %d turns before it, want %d with %d", i, r.Conversation, len(r.History), want, 2*turn)
		}
		if turn == 0 {
			if r.After != -1 || r.ISL != 70 {
				t.Errorf("request %d follows %d and has %d tokens, want that it begins with a context of 50", i, r.After, r.ISL)
			}
			continue
		}
		before := all[i-2]
		if r.After != i-2 || r.History[len(r.History)-1].Content != r.Answer || r.History[len(r.History)-2].Content != before.User {
			t.Errorf("request %d follows %d with the history %.80q", i, r.After, r.History)
		}
		chat := append(append([]token.Message{{Role: "system", Content: strings.Repeat("word ", p.Prompt.SystemPrompts.Tokens)}}, r.History...),
			token.Message{Role: "user", Content: r.User})
		if n := token.CountChat(chat); n != r.PromptTokens {
			t.Errorf("request %d says %d tokens, its chat has %d", i, r.PromptTokens, n)
		}
	}
}

func TestAConversationEndsWhereTheContextIsFull(t *testing.T) {
	p := profile(t, "prompt.isl={type: fixed, mean: 100, sd: 0}", "prompt.osl={type: fixed, mean: 100, sd: 0}",
		"prompt.conversation={turns: 1000, minTurns: 500, open: 1}", "maxModelLen=1024")
	g := generator(t, Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: 1})
	begun := 0
	for range 50 {
		r := next(t, g)
		begun = r.Conversation
		if r.PromptTokens+r.OSL > 1024 {
			t.Fatalf("%d and %d tokens do not fit", r.PromptTokens, r.OSL)
		}
	}
	if begun < 5 {
		t.Errorf("50 requests of 200 tokens stand in %d conversations of 1024", begun+1)
	}
}

func TestTextsOfAFileAreSentAsTheyAre(t *testing.T) {
	rows := []corpus.Row{
		{{User: "Who is there?", Answer: "Nobody, as ever."}, {User: "Why?", Answer: ""}, {User: "And now?", Answer: "No."}},
		{{User: "A long " + strings.Repeat("very ", 3000) + "text.", Answer: "Yes."}},
	}
	p := profile(t, "prompt.osl={type: fixed, mean: 30, sd: 0}", "prompt.source={type: sharegpt, file: x}", "prompt.conversation={turns: 2, open: 1}")
	g := generator(t, Options{Prompt: p.Prompt, MaxModelLen: p.MaxModelLen, Seed: 1, Rows: rows})
	first, second, third, again := next(t, g), next(t, g), next(t, g), next(t, g)
	// Punctuation counts: Nobody , as ever . are five tokens, below the shortest answer of 8.
	if first.User != "Who is there?" || first.Length != (Length{4, 8}) {
		t.Errorf("found %+v", first)
	}
	if second.User != "Why?" || second.After != 0 || second.Answer != "Nobody, as ever." || second.OSL != 30 {
		t.Errorf("found %+v, want the answer of a length that was drawn where the file has none", second)
	}
	if room := p.MaxModelLen - p.Prompt.Overhead(); third.ISL+third.OSL != room || token.Count(third.User) != third.ISL || !strings.HasPrefix(third.User, "A long very") {
		t.Errorf("found %d and %d tokens of %.30q, want a text that is cut to %d", third.ISL, third.OSL, third.User, room)
	}
	if again.User != first.User || again.Conversation != 2 {
		t.Errorf("found %+v, want the first row once more", again)
	}
	if isl, _ := g.Requested(); g.ISL().CappedShare() != 0.25 || isl.Mean < 700 {
		t.Errorf("found %+v and %+v, want the length of the text before it was cut", g.ISL(), isl)
	}
	drawn := p.Prompt
	source := *drawn.Source
	source.DrawnAnswers = true
	drawn.Source = &source
	if r := next(t, generator(t, Options{Prompt: drawn, MaxModelLen: p.MaxModelLen, Seed: 1, Rows: rows})); r.OSL != 30 {
		t.Errorf("found an answer of %d, want that drawn", r.OSL)
	}
}

func TestACutTextHasNoMoreTokensThanItsLimit(t *testing.T) {
	text := "Naïve 漢字, and 12 more…"
	for n := range token.Count(text) + 2 {
		got := cut(token.Default{}, text, n)
		if !strings.HasPrefix(text, got) || strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q is no beginning of the text", got)
		}
		if c := token.Count(got); c > n || c < min(n, token.Count(text))-1 {
			t.Errorf("cut to %d tokens, %q has %d", n, got, c)
		}
	}
}

func TestPoissonGammaAndEmpiricalHaveTheirMoments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lengths")
	if err := os.WriteFile(file, []byte("10\n\n20\n 60 \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d        spec.Distribution
		mean, sd float64
	}{
		{spec.Distribution{Type: spec.PoissonOf, Mean: 200, Min: 1, Max: 4096}, 200, math.Sqrt(200)},
		{spec.Distribution{Type: spec.GammaOf, Mean: 300, SD: 150, Min: 1, Max: 100000}, 300, 150},
		{spec.Distribution{Type: spec.Empirical, File: file, Min: 1, Max: 100}, 30, math.Sqrt(1400.0 / 3)},
		// The moments of inference-perf's generate_distribution, which shifts by min.
		{spec.Distribution{Type: spec.Lognormal, Mean: 1500, SD: 1200, Min: 100, Max: 1 << 30, Shift: 100}, 1500, 1200},
	} {
		asked := sampling(c.d, 1).requested()
		near(t, c.d.Type+" mean asked", asked.Mean, c.mean, 1e-9)
		near(t, c.d.Type+" sd asked", asked.SD, c.sd, 1e-9)
		got := draw(c.d, 42, 100_000).Realised()
		near(t, c.d.Type+" mean", got.Mean, c.mean, 5*c.sd/math.Sqrt(100_000))
		near(t, c.d.Type+" sd", got.SD, c.sd, 0.05*c.sd)
	}
}

func TestAFileOfLengthsSaysWhereItIsWrong(t *testing.T) {
	for content, want := range map[string]string{
		"1\nx\n": `:2: found "x", expected a number of tokens`,
		"-1":     `:1: found "-1", expected a number of tokens`,
		"\n":     ": found none, expected a number of tokens a line",
	} {
		file := filepath.Join(t.TempDir(), "lengths")
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readLengths(file)
		var fault LengthsError
		if !errors.As(err, &fault) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: found %v, want %s", content, err, want)
		}
	}
}

func FuzzLengths(f *testing.F) {
	f.Add("1\n2.5\n")
	f.Add("NaN")
	f.Add("1e400\n-3")
	f.Fuzz(func(t *testing.T, text string) {
		lengths, _, err := parseLengths(strings.NewReader(text))
		if (err == nil) != (len(lengths) > 0) {
			t.Fatalf("%q: found %v, %v", text, lengths, err)
		}
		for _, n := range lengths {
			if !(n >= 0) || math.IsInf(n, 0) {
				t.Fatalf("%q: found the length %g", text, n)
			}
		}
	})
}
