package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// bpe is byte-pair encoding: of two neighbours, those that were joined first in
// training are joined first.
type bpe struct {
	vocab        map[string]int
	merges       map[[2]int]merge
	unknown      int // -1 for none
	fuseUnknown  bool
	byteFallback bool
	whole        bool // a piece in the vocabulary is one token
	prefix, end  string
	known        map[string][]int
}

type merge struct{ rank, id int }

// maxKnown bounds the pieces that are remembered.
const maxKnown = 1 << 17

func newBPE(raw json.RawMessage) (*bpe, error) {
	var f struct {
		Vocab        map[string]int    `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"`
		Unknown      *string           `json:"unk_token"`
		FuseUnknown  bool              `json:"fuse_unk"`
		ByteFallback bool              `json:"byte_fallback"`
		IgnoreMerges bool              `json:"ignore_merges"`
		Prefix       string            `json:"continuing_subword_prefix"`
		End          string            `json:"end_of_word_suffix"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	b := &bpe{
		vocab: f.Vocab, merges: make(map[[2]int]merge, len(f.Merges)), unknown: -1,
		fuseUnknown: f.FuseUnknown, byteFallback: f.ByteFallback, whole: f.IgnoreMerges,
		prefix: f.Prefix, end: f.End, known: map[string][]int{},
	}
	if f.Unknown != nil {
		id, ok := f.Vocab[*f.Unknown]
		if !ok {
			return nil, fmt.Errorf("unk_token: found %q, expected one of the vocabulary", *f.Unknown)
		}
		b.unknown = id
	}
	for rank, raw := range f.Merges {
		left, right, err := pair(raw)
		if err != nil {
			return nil, fmt.Errorf("merges.%d: %w", rank, err)
		}
		var ids [3]int
		for i, text := range []string{left, right, left + strings.TrimPrefix(right, f.Prefix)} {
			id, ok := f.Vocab[text]
			if !ok {
				return nil, fmt.Errorf("merges.%d: found %q, expected a token of the vocabulary", rank, text)
			}
			ids[i] = id
		}
		b.merges[[2]int{ids[0], ids[1]}] = merge{rank, ids[2]}
	}
	return b, nil
}

// pair reads a merge: two texts in a list, or one with a space between in older files.
func pair(raw json.RawMessage) (left, right string, err error) {
	var two []string
	if json.Unmarshal(raw, &two) == nil && len(two) == 2 {
		return two[0], two[1], nil
	}
	var one string
	if err := json.Unmarshal(raw, &one); err != nil {
		return "", "", fmt.Errorf("found %s, expected two tokens", raw)
	}
	left, right, ok := strings.Cut(one, " ")
	if !ok {
		return "", "", fmt.Errorf("found %q, expected two tokens", one)
	}
	return left, right, nil
}

func (b *bpe) encode(ids []int, piece string) []int {
	if piece == "" {
		return ids
	}
	if known, ok := b.known[piece]; ok {
		return append(ids, known...)
	}
	found := b.join(b.symbols(piece))
	if len(b.known) >= maxKnown {
		clear(b.known)
	}
	b.known[strings.Clone(piece)] = found
	return append(ids, found...)
}

// symbols are what a piece begins with: its characters.
func (b *bpe) symbols(piece string) []int {
	if id, ok := b.vocab[piece]; ok && b.whole {
		return []int{id}
	}
	var ids []int
	for i, r := range piece {
		char := string(r)
		last := i+len(char) >= len(piece)
		text := char
		if i > 0 {
			text = b.prefix + text
		}
		if last {
			text += b.end
		}
		if id, ok := b.vocab[text]; ok {
			ids = append(ids, id)
			continue
		}
		if bytes, ok := b.bytes(char); ok {
			ids = append(ids, bytes...)
			continue
		}
		if b.unknown < 0 || b.fuseUnknown && len(ids) > 0 && ids[len(ids)-1] == b.unknown {
			continue
		}
		ids = append(ids, b.unknown)
	}
	return ids
}

// bytes are the tokens <0x00> to <0xFF> of a character that is in no vocabulary.
func (b *bpe) bytes(char string) (ids []int, ok bool) {
	if !b.byteFallback {
		return nil, false
	}
	for i := range len(char) {
		id, ok := b.vocab[fmt.Sprintf("<0x%02X>", char[i])]
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// join joins neighbours, those of the lowest rank first, as long as there are any.
func (b *bpe) join(ids []int) []int {
	for len(ids) > 1 {
		best, at := merge{rank: len(b.merges)}, -1
		for i := range len(ids) - 1 {
			if m, ok := b.merges[[2]int{ids[i], ids[i+1]}]; ok && m.rank < best.rank {
				best, at = m, i
			}
		}
		if at < 0 {
			break
		}
		ids[at] = best.id
		ids = append(ids[:at+1], ids[at+2:]...)
	}
	return ids
}
