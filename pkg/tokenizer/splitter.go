package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/dlclark/regexp2/v2"
)

// splitter cuts a text into pieces. first is true for the beginning of all.
type splitter func(text string, first bool) []string

func newSplitter(raw json.RawMessage) (splitter, error) {
	if absent(raw) {
		return func(text string, _ bool) []string { return []string{text} }, nil
	}
	var p struct {
		Type             string            `json:"type"`
		PreTokenizers    []json.RawMessage `json:"pretokenizers"`
		Pattern          pattern           `json:"pattern"`
		Behavior         string            `json:"behavior"`
		Invert           bool              `json:"invert"`
		AddPrefixSpace   bool              `json:"add_prefix_space"`
		UseRegex         *bool             `json:"use_regex"`
		IndividualDigits bool              `json:"individual_digits"`
		Replacement      string            `json:"replacement"`
		PrependScheme    string            `json:"prepend_scheme"`
		Split            *bool             `json:"split"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	switch p.Type {
	case "Sequence":
		return sequence(p.PreTokenizers)
	case "Split":
		re, err := p.Pattern.compile()
		if err != nil {
			return nil, err
		}
		if p.Invert {
			return nil, errors.New("invert: found true, expected false")
		}
		return splitAt(re, p.Behavior)
	case "ByteLevel":
		return byteLevel(p.AddPrefixSpace, p.UseRegex == nil || *p.UseRegex), nil
	case "Metaspace":
		scheme := p.PrependScheme
		if scheme == "" { // older files
			scheme = map[bool]string{true: "always", false: "never"}[p.AddPrefixSpace]
		}
		return metaspace(p.Replacement, scheme, p.Split == nil || *p.Split), nil
	case "Whitespace":
		return splitAt(regexp2.MustCompile(`\w+|[^\w\s]+`), "only")
	case "WhitespaceSplit":
		return func(text string, _ bool) []string { return strings.Fields(text) }, nil
	case "BertPreTokenizer":
		return func(text string, _ bool) []string {
			var all []string
			for _, word := range strings.Fields(text) {
				all = isolate(all, word, punctuation)
			}
			return all
		}, nil
	case "Punctuation":
		if p.Behavior != "" && p.Behavior != "Isolated" {
			return nil, fmt.Errorf("behavior: found %q, expected Isolated", p.Behavior)
		}
		return func(text string, _ bool) []string { return isolate(nil, text, punctuation) }, nil
	case "Digits":
		if p.IndividualDigits {
			return func(text string, _ bool) []string { return isolate(nil, text, unicode.IsNumber) }, nil
		}
		return splitAt(regexp2.MustCompile(`\p{N}+`), "Isolated")
	}
	return nil, unknown(p.Type, "Sequence, Split, ByteLevel, Metaspace, Whitespace, WhitespaceSplit, BertPreTokenizer, Punctuation or Digits")
}

func sequence(raws []json.RawMessage) (splitter, error) {
	var all []splitter
	for i, raw := range raws {
		next, err := newSplitter(raw)
		if err != nil {
			return nil, fmt.Errorf("pretokenizers.%d: %w", i, err)
		}
		all = append(all, next)
	}
	return func(text string, first bool) []string {
		pieces := []string{text}
		for _, next := range all {
			var finer []string
			for i, piece := range pieces {
				finer = append(finer, next(piece, first && i == 0)...)
			}
			pieces = finer
		}
		return pieces
	}, nil
}

// splitAt cuts at the matches of re. What becomes of them is the behavior: Isolated
// ones are pieces, Removed ones are not; MergedWithPrevious and MergedWithNext belong to
// what stands before and behind. Behavior only keeps the matches and nothing else.
func splitAt(re *regexp2.Regexp, behavior string) (splitter, error) {
	switch behavior {
	case "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "only":
	default:
		return nil, fmt.Errorf("behavior: found %q, expected Isolated, Removed, MergedWithPrevious or MergedWithNext", behavior)
	}
	return func(text string, _ bool) []string {
		matches, err := re.FindAllStringIndex(text, -1)
		if err != nil { // only a time limit, and there is none
			panic(err)
		}
		var all []string
		add := func(from, to int) {
			if from < to {
				all = append(all, text[from:to])
			}
		}
		at := 0 // the end of what is taken care of
		for _, m := range matches {
			switch behavior {
			case "only":
				add(m[0], m[1])
				at = m[1]
			case "Removed":
				add(at, m[0])
				at = m[1]
			case "MergedWithPrevious":
				add(at, m[1])
				at = m[1]
			case "MergedWithNext":
				add(at, m[0])
				at = m[0]
			default:
				add(at, m[0])
				add(m[0], m[1])
				at = m[1]
			}
		}
		if behavior != "only" {
			add(at, len(text))
		}
		return all
	}, nil
}

// gpt2 is the expression of ByteLevel (GPT-2, encoder.py).
var gpt2 = regexp2.MustCompile(`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`)

// byteLevel writes each byte as a character that can be seen.
func byteLevel(prefixSpace, useRegex bool) splitter {
	cut := func(text string, _ bool) []string { return []string{text} }
	if useRegex {
		byWord, err := splitAt(gpt2, "Isolated")
		if err != nil {
			panic(err) // the behavior is known
		}
		cut = byWord
	}
	return func(text string, first bool) []string {
		if prefixSpace && text != "" && !strings.HasPrefix(text, " ") {
			text = " " + text
		}
		pieces := cut(text, first)
		for i, piece := range pieces {
			pieces[i] = visible(piece)
		}
		return pieces
	}
}

// byteRunes are the characters for bytes (GPT-2, bytes_to_unicode): those that can be
// seen stand for themselves, the others for 256 and up.
var byteRunes = func() (t [256]rune) {
	next := rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= '¡' && b <= '¬' || b >= '®' && b <= 'ÿ' {
			t[b] = b
			continue
		}
		t[b] = next
		next++
	}
	return t
}()

func visible(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for i := range len(text) {
		b.WriteRune(byteRunes[text[i]])
	}
	return b.String()
}

// metaspace writes spaces as a character that can be seen and cuts before each.
func metaspace(mark, scheme string, split bool) splitter {
	return func(text string, first bool) []string {
		text = strings.ReplaceAll(text, " ", mark)
		if (scheme == "always" || scheme == "first" && first) && text != "" && !strings.HasPrefix(text, mark) {
			text = mark + text
		}
		if !split || mark == "" {
			return []string{text}
		}
		var all []string
		for text != "" {
			end := len(text)
			if i := strings.Index(text[min(len(mark), len(text)):], mark); strings.HasPrefix(text, mark) && i >= 0 {
				end = i + len(mark)
			} else if i := strings.Index(text, mark); i > 0 {
				end = i
			}
			all = append(all, text[:end])
			text = text[end:]
		}
		return all
	}
}

// isolate cuts text so that each character of a kind is a piece.
func isolate(all []string, text string, kind func(rune) bool) []string {
	start := 0
	for i, r := range text {
		if !kind(r) {
			continue
		}
		if start < i {
			all = append(all, text[start:i])
		}
		start = i + len(string(r))
		all = append(all, text[i:start])
	}
	if start < len(text) {
		all = append(all, text[start:])
	}
	return all
}

// punctuation is BERT's: what ASCII has that is neither letter, digit nor space, and
// Unicode's.
func punctuation(r rune) bool {
	if r > ' ' && r < 0x7f {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	return unicode.IsPunct(r)
}
