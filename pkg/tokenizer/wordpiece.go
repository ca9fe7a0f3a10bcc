package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// wordPiece takes the longest token that a word begins with, again and again.
type wordPiece struct {
	vocab   map[string]int
	unknown int
	prefix  string
	longest int // in characters; a longer word is unknown
}

func newWordPiece(raw json.RawMessage) (*wordPiece, error) {
	f := struct {
		Vocab   map[string]int `json:"vocab"`
		Unknown string         `json:"unk_token"`
		Prefix  string         `json:"continuing_subword_prefix"`
		Longest int            `json:"max_input_chars_per_word"`
	}{Unknown: "[UNK]", Prefix: "##", Longest: 100}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	unknown, ok := f.Vocab[f.Unknown]
	if !ok {
		return nil, fmt.Errorf("unk_token: found %q, expected one of the vocabulary", f.Unknown)
	}
	return &wordPiece{f.Vocab, unknown, f.Prefix, f.Longest}, nil
}

func (w *wordPiece) encode(ids []int, word string) []int {
	if word == "" {
		return ids
	}
	if utf8.RuneCountInString(word) > w.longest {
		return append(ids, w.unknown)
	}
	before := len(ids)
	for start := 0; start < len(word); {
		prefix := w.prefix
		if start == 0 {
			prefix = ""
		}
		end := len(word)
		for end > start {
			if id, ok := w.vocab[prefix+word[start:end]]; ok {
				ids = append(ids, id)
				break
			}
			_, n := utf8.DecodeLastRuneInString(word[start:end])
			end -= n
		}
		if end == start {
			return append(ids[:before], w.unknown)
		}
		start = end
	}
	return ids
}
