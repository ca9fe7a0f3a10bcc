package sim

import "bgbench/pkg/openai"

// Prompts keeps the prompts that chats become, for Tokenizers that meet the same chats
// one after the other: the arms of a trial replay the same ones. A chat is known by
// where in memory its texts are, which a Prompts keeps from being used for anything
// else. The zero Prompts is ready; it belongs to one goroutine.
type Prompts struct {
	tokenizer Tokenizer
	known     map[chatAt]keptPrompt
	ids       int
	room      []uint32 // for the next prompts
}

// chatAt is where the texts of a chat are: a user message, after a system prompt or
// not.
type chatAt struct{ system, user textAt }

type keptPrompt struct {
	prompt Prompt
	output Output
	shared *Prefix
}

const (
	// maxKeptIDs bounds the memory of a Prompts to 128 MiB, twice what the default profile of
	// the catalogue takes. Chats beyond it are tokenised each time.
	maxKeptIDs = 32 << 20
	// promptRoom is how many ids are allocated at once.
	promptRoom = 1 << 18
)

// prompt is the prompt of a chat. ok is false for one that is not kept.
func (p *Prompts) prompt(messages []openai.Message) (_ keptPrompt, ok bool) {
	at, ok := placeOf(messages)
	if !ok {
		return keptPrompt{}, false
	}
	kept, ok := p.known[at]
	if ok {
		return kept, true
	}
	prompt, output, shared := p.tokenizer.prompt(messages)
	defer p.tokenizer.giveBack(prompt.rest)
	if p.ids+len(prompt.rest) > maxKeptIDs {
		return keptPrompt{}, false
	}
	if p.known == nil {
		p.known = map[chatAt]keptPrompt{}
	}
	kept = keptPrompt{Prompt{prompt.start, p.copy(prompt.rest)}, output, shared}
	p.known[at] = kept
	p.ids += len(prompt.rest)
	return kept, true
}

// kept is the prompt of a chat that t has Prompts for.
func (t *Tokenizer) kept(messages []openai.Message) (_ keptPrompt, ok bool) {
	if t.Prompts == nil {
		return keptPrompt{}, false
	}
	return t.Prompts.prompt(messages)
}

// copy copies ids to where they stay.
func (p *Prompts) copy(ids []uint32) []uint32 {
	if len(ids) > len(p.room) {
		p.room = make([]uint32, max(promptRoom, len(ids)))
	}
	kept := p.room[:len(ids):len(ids)]
	copy(kept, ids)
	p.room = p.room[len(ids):]
	return kept
}

// placeOf returns where the texts of a chat are, if it is of the common kind.
func placeOf(messages []openai.Message) (at chatAt, ok bool) {
	if len(messages) == 2 && messages[0].Role == "system" && messages[0].Content != "" {
		at.system = placeOfText(messages[0].Content)
		messages = messages[1:]
	}
	if len(messages) != 1 || messages[0].Role != "user" || messages[0].Content == "" {
		return chatAt{}, false
	}
	at.user = placeOfText(messages[0].Content)
	return at, true
}
