package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/token"
)

// Tokenizer is an opened tokenizer.json. It is not for several goroutines at once.
type Tokenizer struct {
	SHA256   string
	added    addedTokens
	normal   normalizer
	split    splitter
	model    model
	template *chatTemplate
	// counts of long parts: a chat has the system prompt of others, and a text is counted
	// alone before it is counted in its chat.
	counts map[string]int
	buf    []int
}

// Parts of at least minKept bytes are kept, maxKept of them.
const (
	minKept = 256
	maxKept = 512
)

// model encodes one piece of a text.
type model interface {
	encode(ids []int, piece string) []int
}

// FileError says that a file is not what it was taken for.
type FileError struct {
	File string
	Err  error
}

func (e FileError) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }
func (e FileError) Unwrap() error { return e.Err }

// Open reads a tokenizer.json, and the chat template that lies beside it.
func Open(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, FileError{path, errors.Unwrap(err)} // without the name, which it has
	}
	t, err := Parse(data)
	if err != nil {
		return nil, FileError{path, err}
	}
	sum := sha256.Sum256(data)
	t.SHA256 = hex.EncodeToString(sum[:])
	t.template, err = findTemplate(path)
	return t, err
}

// Parse reads the content of a tokenizer.json.
func Parse(data []byte) (*Tokenizer, error) {
	var f struct {
		AddedTokens  []addedToken    `json:"added_tokens"`
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		Model        json.RawMessage `json:"model"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, jsontext.Line(err)
	}
	if f.Model == nil {
		return nil, errors.New("model: found none, expected one of type BPE, WordPiece or Unigram")
	}
	t := &Tokenizer{added: newAddedTokens(f.AddedTokens), counts: map[string]int{}}
	var err error
	if t.normal, err = newNormalizer(f.Normalizer); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if t.split, err = newSplitter(f.PreTokenizer); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if t.model, err = newModel(f.Model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return t, nil
}

func newModel(raw json.RawMessage) (model, error) {
	var head struct {
		Type   string          `json:"type"`
		Merges json.RawMessage `json:"merges"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch {
	case head.Type == "BPE" || head.Type == "" && head.Merges != nil: // older files leave the type out
		return newBPE(raw)
	case head.Type == "WordPiece":
		return newWordPiece(raw)
	case head.Type == "Unigram":
		return newUnigram(raw)
	}
	return nil, unknown(head.Type, "BPE, WordPiece or Unigram")
}

// unknown says that a part is not known. Its name is what the file calls it.
func unknown(found, expected string) error {
	return fmt.Errorf("found type %q, expected %s", found, expected)
}

// Encode returns the ids of the tokens in text, without special ones before and after.
func (t *Tokenizer) Encode(text string) []int {
	var ids []int
	first := true
	t.added.split(text, func(part string, added int) {
		if added >= 0 {
			ids = append(ids, added)
		} else {
			ids = t.encode(ids, part, first)
		}
		first = false
	})
	return ids
}

// Count implements token.Counter.
func (t *Tokenizer) Count(text string) int {
	n := 0
	first := true
	t.added.split(text, func(part string, added int) {
		if added >= 0 {
			n++
		} else {
			n += t.count(part, first)
		}
		first = false
	})
	return n
}

// count counts the tokens of a text without added ones.
func (t *Tokenizer) count(text string, first bool) int {
	key := text
	if first { // the beginning may be split otherwise
		key = "\x00" + text
	}
	if n, ok := t.counts[key]; ok {
		return n
	}
	t.buf = t.encode(t.buf[:0], text, first)
	if len(text) >= minKept {
		if len(t.counts) >= maxKept {
			clear(t.counts)
		}
		t.counts[key] = len(t.buf)
	}
	return len(t.buf)
}

func (t *Tokenizer) encode(ids []int, text string, first bool) []int {
	for _, piece := range t.split(t.normal(text), first) {
		ids = t.model.encode(ids, piece)
	}
	return ids
}

// CountChat implements token.Counter.
func (t *Tokenizer) CountChat(messages []token.Message) (int, error) {
	if t.template != nil {
		text, err := t.template.render(messages)
		if err != nil {
			return 0, err
		}
		return t.Count(text), nil
	}
	n := token.ReplyOverhead
	for _, m := range messages {
		n += token.MessageOverhead + t.Count(m.Content)
	}
	return n, nil
}

// Template is where the chat template was found, empty where there is none: then the
// tokens of ChatML's are added to those of the texts.
func (t *Tokenizer) Template() string {
	if t.template == nil {
		return ""
	}
	return t.template.file
}
