package prompt

import (
	"math/rand/v2"

	"bgbench/pkg/spec"
)

// turns draws how many turns conversations have.
type turns struct {
	least, most int
	rng         *rand.Rand
}

func newTurns(c *spec.Conversation, src rand.Source) turns {
	if c == nil {
		return turns{1, 1, nil}
	}
	t := turns{c.Turns, c.Turns, rand.New(src)}
	if c.MinTurns > 0 {
		t.least = c.MinTurns
	}
	return t
}

func (t turns) next() int {
	if t.least == t.most {
		return t.most
	}
	return t.least + t.rng.IntN(t.most-t.least+1)
}
