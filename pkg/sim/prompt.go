package sim

import "slices"

// Prompt is the token ids of a rendered chat: those of a system prompt, which is in
// memory once for all chats that start with it, and those that follow. The zero Prompt
// is empty.
type Prompt struct {
	start *Prefix // nil for none
	rest  []uint32
}

// PromptOf returns the prompt with these ids. It keeps them.
func PromptOf(ids []uint32) Prompt { return Prompt{rest: ids} }

// Len is the number of tokens.
func (p Prompt) Len() int { return p.start.Len() + len(p.rest) }

// ID returns the id of token i.
func (p Prompt) ID(i int) uint32 {
	if n := p.start.Len(); i >= n {
		return p.rest[i-n]
	}
	return p.start.ids[i]
}

// Range returns the ids of the tokens from to before to where they lie side by side in
// memory, else nil. They are not to be changed.
func (p Prompt) Range(from, to int) []uint32 {
	n := p.start.Len()
	switch {
	case from >= n:
		return p.rest[from-n : to-n]
	case to <= n:
		return p.start.ids[from:to]
	}
	return nil
}

// IDs returns a copy of the ids.
func (p Prompt) IDs() []uint32 {
	if p.start == nil {
		return slices.Clone(p.rest)
	}
	return slices.Concat(p.start.ids, p.rest)
}
