package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken stands in a text as it is: nothing splits it.
type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LeftStrip  bool   `json:"lstrip"`
	RightStrip bool   `json:"rstrip"`
}

// addedTokens are found by their first byte, the longest first.
type addedTokens map[byte][]addedToken

func newAddedTokens(all []addedToken) addedTokens {
	byByte := addedTokens{}
	for _, t := range all {
		if t.Content != "" {
			byByte[t.Content[0]] = append(byByte[t.Content[0]], t)
		}
	}
	for _, list := range byByte {
		slices.SortStableFunc(list, func(a, b addedToken) int { return len(b.Content) - len(a.Content) })
	}
	return byByte
}

// split hands over the parts of text in their order: between added tokens with added -1,
// and those with their id.
func (a addedTokens) split(text string, part func(text string, added int)) {
	start := 0
	for i := 0; i < len(text); {
		t, ok := a.at(text, i)
		if !ok {
			i++
			continue
		}
		end := i + len(t.Content)
		before, after := text[start:i], text[end:]
		if t.LeftStrip {
			before = strings.TrimRightFunc(before, unicode.IsSpace)
		}
		if t.RightStrip {
			end += len(after) - len(strings.TrimLeftFunc(after, unicode.IsSpace))
		}
		if before != "" {
			part(before, -1)
		}
		part("", t.ID)
		start, i = end, end
	}
	if start < len(text) {
		part(text[start:], -1)
	}
}

func (a addedTokens) at(text string, i int) (addedToken, bool) {
	for _, t := range a[text[i]] {
		if strings.HasPrefix(text[i:], t.Content) && (!t.SingleWord || alone(text, i, i+len(t.Content))) {
			return t, true
		}
	}
	return addedToken{}, false
}

// alone reports whether text[from:to] is no part of a word.
func alone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !(from > 0 && ofWord(before)) && !(to < len(text) && ofWord(after))
}

func ofWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
