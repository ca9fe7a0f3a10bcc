package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/dlclark/regexp2/v2"
	"golang.org/x/text/unicode/norm"
)

// normalizer changes a text before it is split.
type normalizer func(string) string

func unchanged(text string) string { return text }

// absent reports whether a part of the file is not there.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func newNormalizer(raw json.RawMessage) (normalizer, error) {
	if absent(raw) {
		return unchanged, nil
	}
	var n struct {
		Type        string            `json:"type"`
		Normalizers []json.RawMessage `json:"normalizers"`
		Prepend     string            `json:"prepend"`
		Pattern     pattern           `json:"pattern"`
		Content     string            `json:"content"`
		StripLeft   bool              `json:"strip_left"`
		StripRight  bool              `json:"strip_right"`
		bertOptions
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return nil, err
	}
	switch n.Type {
	case "Sequence":
		var all []normalizer
		for i, one := range n.Normalizers {
			next, err := newNormalizer(one)
			if err != nil {
				return nil, fmt.Errorf("normalizers.%d: %w", i, err)
			}
			all = append(all, next)
		}
		return func(text string) string {
			for _, next := range all {
				text = next(text)
			}
			return text
		}, nil
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Lowercase":
		return strings.ToLower, nil
	case "StripAccents":
		return stripMarks, nil
	case "Strip":
		return func(text string) string {
			if n.StripLeft {
				text = strings.TrimLeftFunc(text, unicode.IsSpace)
			}
			if n.StripRight {
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			}
			return text
		}, nil
	case "Prepend":
		return func(text string) string {
			if text == "" {
				return ""
			}
			return n.Prepend + text
		}, nil
	case "Replace":
		return n.Pattern.replacer(n.Content)
	case "BertNormalizer":
		return n.bertOptions.normalize, nil
	}
	return nil, unknown(n.Type, "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace or BertNormalizer")
}

// pattern is a text or a regular expression.
type pattern struct {
	String *string
	Regex  *string
}

func (p pattern) compile() (*regexp2.Regexp, error) {
	switch {
	case p.Regex != nil:
		return regexp2.Compile(*p.Regex)
	case p.String != nil:
		return regexp2.Compile(regexp2.Escape(*p.String))
	}
	return nil, errors.New("pattern: found neither String nor Regex, expected one of them")
}

func (p pattern) replacer(with string) (normalizer, error) {
	if p.String != nil {
		return func(text string) string { return strings.ReplaceAll(text, *p.String, with) }, nil
	}
	re, err := p.compile()
	if err != nil {
		return nil, err
	}
	return func(text string) string {
		out, err := re.ReplaceFunc(text, func(regexp2.Match) string { return with }, -1, -1)
		if err != nil { // only a time limit, and there is none
			panic(err)
		}
		return out
	}, nil
}

// bertOptions are those of BertNormalizer. Accents go with upper case where nothing is
// said of them.
type bertOptions struct {
	CleanText          bool  `json:"clean_text"`
	HandleChineseChars bool  `json:"handle_chinese_chars"`
	StripAccents       *bool `json:"strip_accents"`
	Lowercase          bool  `json:"lowercase"`
}

func (o bertOptions) normalize(text string) string {
	if o.CleanText {
		text = strings.Map(func(r rune) rune {
			switch {
			case r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r):
				return ' '
			case r == 0 || r == unicode.ReplacementChar || unicode.In(r, unicode.C):
				return -1
			}
			return r
		}, text)
	}
	if o.HandleChineseChars {
		var b strings.Builder
		for _, r := range text {
			if unicode.Is(unicode.Unified_Ideograph, r) {
				b.WriteString(" " + string(r) + " ")
			} else {
				b.WriteRune(r)
			}
		}
		text = b.String()
	}
	if o.StripAccents != nil && *o.StripAccents || o.StripAccents == nil && o.Lowercase {
		text = stripMarks(norm.NFD.String(text))
	}
	if o.Lowercase {
		text = strings.ToLower(text)
	}
	return text
}

// stripMarks takes off what is written above and below letters.
func stripMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
}
