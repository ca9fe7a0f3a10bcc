package prompt

import (
	"bgbench/pkg/random"
	"bgbench/pkg/spec"
)

// Generator makes the requests of one purpose, one after the other.
type Generator struct {
	isl, osl sampler
	text     writer
	// room is what the context holds beside the system prompt and the chat template.
	room int
	buf  []byte

	ISL, OSL Tally // of the requests made so far
}

// Length is how long a request is, in tokens.
type Length struct{ ISL, OSL int }

// New returns the generator of a purpose, such as "interactive" or "job A", whose
// requests fit a context of maxModelLen tokens. Lengths and text take separate
// streams, so that a change of the one leaves the other.
func New(p spec.Prompt, maxModelLen int, seed int64, purpose string) *Generator {
	return &Generator{
		isl:  newSampler(p.ISL, random.Stream(seed, "isl", purpose)),
		osl:  newSampler(p.OSL, random.Stream(seed, "osl", purpose)),
		text: newWriter(random.Stream(seed, "text", purpose)),
		room: maxModelLen - p.Overhead(),
	}
}

// Next makes a request.
func (g *Generator) Next() (user string, length Length) {
	isl, islClipped := g.isl.next()
	osl, oslClipped := g.osl.next()
	fit := g.fit(Length{isl, osl}, g.isl.d.Min)
	g.ISL.add(fit.ISL, islClipped, fit.ISL < isl)
	g.OSL.add(fit.OSL, oslClipped, fit.OSL < osl)
	return g.write(fit)
}

// Sized makes a request of a length that is given, shortened to the context if need be.
func (g *Generator) Sized(l Length) (user string, length Length) {
	fit := g.fit(l, 1)
	g.ISL.add(fit.ISL, false, fit.ISL < l.ISL)
	g.OSL.add(fit.OSL, false, fit.OSL < l.OSL)
	return g.write(fit)
}

func (g *Generator) write(l Length) (user string, length Length) {
	g.buf = g.text.append(g.buf[:0], l.ISL)
	return string(g.buf), l
}

// fit shortens a request to the context: first its prompt, down to least, then its
// answer, because the answer decides how long the request occupies the server.
func (g *Generator) fit(l Length, least int) Length {
	over := max(l.ISL+l.OSL-g.room, 0)
	cut := min(over, l.ISL-least)
	return Length{l.ISL - cut, l.OSL - (over - cut)}
}

// Systems returns the system prompts of a trial, the same for all its requests that
// have as many of the same length.
func Systems(s spec.SystemPrompts, seed int64) []string {
	w := newWriter(random.Stream(seed, "text", "system prompts"))
	texts := make([]string, s.Count)
	for i := range texts {
		texts[i] = string(w.append(nil, s.Tokens))
	}
	return texts
}
