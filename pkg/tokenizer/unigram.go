package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// unigram takes the tokens that are the likeliest together.
type unigram struct {
	vocab        map[string]scored
	longest      int // in bytes, of all tokens
	unknown      int // -1 for none
	unknownScore float64
	byteFallback bool
}

type scored struct {
	id    int
	score float64
}

// unknownPenalty is how much less likely than the least likely token one is that is not
// known (tokenizers, models/unigram).
const unknownPenalty = 10

func newUnigram(raw json.RawMessage) (*unigram, error) {
	var f struct {
		Vocab        [][2]json.RawMessage `json:"vocab"`
		Unknown      *int                 `json:"unk_id"`
		ByteFallback bool                 `json:"byte_fallback"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if len(f.Vocab) == 0 {
		return nil, errors.New("vocab: found none, expected tokens and their scores")
	}
	u := &unigram{vocab: make(map[string]scored, len(f.Vocab)), unknown: -1, byteFallback: f.ByteFallback}
	least := math.Inf(1)
	for i, entry := range f.Vocab {
		var text string
		var score float64
		if err := errors.Join(json.Unmarshal(entry[0], &text), json.Unmarshal(entry[1], &score)); err != nil {
			return nil, fmt.Errorf("vocab.%d: found %s and %s, expected a token and its score", i, entry[0], entry[1])
		}
		u.vocab[text] = scored{i, score}
		u.longest = max(u.longest, len(text))
		least = min(least, score)
	}
	u.unknownScore = least - unknownPenalty
	if f.Unknown != nil {
		if *f.Unknown < 0 || *f.Unknown >= len(f.Vocab) {
			return nil, fmt.Errorf("unk_id: found %d, expected 0 to %d", *f.Unknown, len(f.Vocab)-1)
		}
		u.unknown = *f.Unknown
	}
	return u, nil
}

// encode finds the best way through the piece (Viterbi).
func (u *unigram) encode(ids []int, piece string) []int {
	type step struct {
		score float64
		from  int
		id    int // -1 for what is unknown
	}
	best := make([]step, len(piece)+1)
	for i := range best {
		best[i] = step{score: math.Inf(-1)}
	}
	best[0].score = 0
	for at := 0; at < len(piece); {
		_, n := utf8.DecodeRuneInString(piece[at:])
		single := false
		for end := at + 1; end <= min(len(piece), at+u.longest); end++ {
			t, ok := u.vocab[piece[at:end]]
			if !ok {
				continue
			}
			single = single || end == at+n
			if score := best[at].score + t.score; score > best[end].score {
				best[end] = step{score, at, t.id}
			}
		}
		if score := best[at].score + u.unknownScore; !single && score > best[at+n].score {
			best[at+n] = step{score, at, -1}
		}
		at += n
	}
	var path []int // ends of tokens, the last first
	for at := len(piece); at > 0; at = best[at].from {
		path = append(path, at)
	}
	fused := false
	for i := len(path) - 1; i >= 0; i-- {
		s := best[path[i]]
		switch {
		case s.id >= 0:
			ids = append(ids, s.id)
		case u.byteFallback:
			ids = u.bytes(ids, piece[s.from:path[i]])
		case u.unknown >= 0 && !fused: // neighbours that are unknown are one
			ids = append(ids, u.unknown)
		}
		fused = s.id < 0
	}
	return ids
}

func (u *unigram) bytes(ids []int, text string) []int {
	for i := range len(text) {
		if t, ok := u.vocab[fmt.Sprintf("<0x%02X>", text[i])]; ok {
			ids = append(ids, t.id)
		} else if u.unknown >= 0 {
			return append(ids, u.unknown)
		}
	}
	return ids
}
