package sim

import (
	"math/bits"
	"unsafe"

	"bgbench/pkg/openai"
	"bgbench/pkg/token"
)

// Tokenizer makes Calls and remembers the system prompts that it has seen: a
// workload repeats a few of them thousands of times, and each is longer than what
// follows (BenchmarkNewCall). The zero Tokenizer is ready; it belongs to one
// goroutine.
type Tokenizer struct {
	// Prompts keeps what was tokenised for other Tokenizers; nil for none.
	Prompts *Prompts

	known map[string]*Prefix
	at    map[textAt]*Prefix       // the same by where their texts are
	spare [maxSpareBits][][]uint32 // ids that were given back, by the bits of their capacity
}

// maxSpareBits is far above the longest context.
const maxSpareBits = 32

// Prefix is what a system prompt at the start of a chat becomes. All calls of a
// Tokenizer that start with the same text have the same Prefix.
type Prefix struct {
	ids    []uint32
	output Output // of the ids alone
}

// Len is the number of tokens, 0 for none.
func (p *Prefix) Len() int {
	if p == nil {
		return 0
	}
	return len(p.ids)
}

// textAt is where in memory a text is: to find that it is a known one without reading
// it.
type textAt struct {
	data *byte
	size int
}

func placeOfText(text string) textAt { return textAt{unsafe.StringData(text), len(text)} }

// maxKnownPrefixes bounds the memory of a Tokenizer whose callers never repeat
// themselves.
const maxKnownPrefixes = 1024

// prompt renders messages and returns the ids, and the output that they have. shared
// is nil when they do not start with a prefix that is remembered.
func (t *Tokenizer) prompt(messages []openai.Message) (prompt Prompt, output Output, shared *Prefix) {
	rest := messages
	if len(messages) > 0 && messages[0].Role == "system" {
		prompt.start, shared = t.prefix(messages[0].Content)
		rest = messages[1:]
	}
	chars := 0
	for _, m := range rest {
		chars += len(m.Content)
	}
	// Tokens of generated text are some six characters long; a guess that is too
	// small only costs a copy.
	ids := t.empty(chars/5 + 16)
	for _, m := range rest {
		ids = token.AppendMessage(ids, token.Message{Role: m.Role, Content: m.Content})
	}
	prompt.rest = token.AppendReply(ids)
	return prompt, OutputOf(prompt), shared
}

// empty returns memory for so many ids.
func (t *Tokenizer) empty(ids int) []uint32 {
	size := bits.Len(uint(ids - 1))
	class := &t.spare[size]
	if last := len(*class) - 1; last >= 0 {
		spare := (*class)[last]
		*class = (*class)[:last]
		return spare
	}
	return make([]uint32, 0, 1<<size)
}

// Reuse takes back the prompt of a call that has ended and that nobody will submit
// again. A run makes some hundred megabytes of them, of which a few are in use at a
// time; fresh memory for each took a tenth of it (BenchmarkModelRun).
func (t *Tokenizer) Reuse(call *Call) {
	if !call.kept {
		t.giveBack(call.Prompt.rest)
	}
}

func (t *Tokenizer) giveBack(ids []uint32) {
	size := bits.Len(uint(cap(ids))) - 1
	if size > 0 && size < maxSpareBits {
		t.spare[size] = append(t.spare[size], ids[:0])
	}
}

// prefix returns what a system prompt becomes, twice when it will be remembered.
func (t *Tokenizer) prefix(system string) (p, known *Prefix) {
	at := placeOfText(system)
	if p, ok := t.at[at]; ok {
		return p, p
	}
	p, ok := t.known[system]
	if !ok {
		p = &Prefix{ids: token.AppendMessage(make([]uint32, 0, len(system)/5+16), token.Message{Role: "system", Content: system})}
		p.output = noPrompt.after(p.ids)
		if len(t.known) >= maxKnownPrefixes {
			return p, nil
		}
		if t.known == nil {
			t.known, t.at = map[string]*Prefix{}, map[textAt]*Prefix{}
		}
		t.known[system] = p
	}
	if len(t.at) < maxKnownPrefixes {
		t.at[at] = p
	}
	return p, p
}
