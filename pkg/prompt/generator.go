package prompt

import (
	"fmt"

	"bgbench/pkg/corpus"
	"bgbench/pkg/random"
	"bgbench/pkg/spec"
	"bgbench/pkg/token"
)

// Options of a Generator.
type Options struct {
	Prompt spec.Prompt
	// MaxModelLen is how many tokens a request and its answer have room in.
	MaxModelLen int
	Seed        int64
	// Purpose names the streams of random numbers, such as "interactive" or "job A".
	Purpose string
	Counter token.Counter
	Systems []string     // the system prompts, of which request i has i modulo their number
	Rows    []corpus.Row // of Prompt.Source, dealt out to this purpose
}

// Request is what to send.
type Request struct {
	// Conversation numbers the conversations; a request that stands alone is one.
	Conversation int
	// History are the turns before, without a system prompt. After is the request of this
	// generator to which they lead up, -1 for none, and Answer the one to it.
	History []token.Message
	After   int
	Answer  string
	User    string
	Length
	// PromptTokens are those of all that is sent: system prompt, history, user message
	// and chat template.
	PromptTokens int
}

// Length is how long a user message and the answer to it are, in tokens.
type Length struct{ ISL, OSL int }

// Generator makes the requests of one purpose, one after the other.
type Generator struct {
	o      Options
	source source
	words  *words
	open   []conversation
	made   int
	begun  int
	// base are the tokens that a request has beside its user message and its history,
	// turn those that a turn of the history has beside its texts.
	base, turn int
	exact      bool // every chat is counted as a whole
}

// conversation is one that is open.
type conversation struct {
	number  int
	talk    talk
	history []token.Message
	tokens  int // of the history
	last    int // the request made last
	answer  string
}

// New returns a generator. Lengths and text take separate streams, so that a change of
// the one leaves the other.
func New(o Options) (*Generator, error) {
	words, err := newWords(o)
	if err != nil {
		return nil, err
	}
	g := &Generator{o: o, source: words, words: words, open: make([]conversation, 1), base: o.Prompt.Overhead(), turn: 2 * token.MessageOverhead}
	if c := o.Prompt.Conversation; c != nil {
		g.open = make([]conversation, c.Open)
	}
	if o.Prompt.Source != nil {
		g.source = &dealt{words: words, rows: o.Rows}
	}
	if o.Counter != (token.Default{}) {
		g.exact = true
		if err := g.measureTemplate(); err != nil {
			return nil, err
		}
	}
	if least := g.base + o.Prompt.ISL.Min + o.Prompt.OSL.Min; least > o.MaxModelLen {
		return nil, RoomError{least, o.MaxModelLen}
	}
	return g, nil
}

// RoomError says that not even the shortest request fits the context.
type RoomError struct{ Least, Room int }

func (e RoomError) Error() string {
	return fmt.Sprintf("maxModelLen: %d is below %d, the tokens of the shortest request by the tokenizer", e.Room, e.Least)
}

// measureTemplate counts what the chat template adds.
func (g *Generator) measureTemplate() error {
	const text = "x"
	one := g.o.Counter.Count(text)
	user, assistant := token.Message{Role: "user", Content: text}, token.Message{Role: "assistant", Content: text}
	alone, err := g.o.Counter.CountChat([]token.Message{user})
	if err != nil {
		return err
	}
	three, err := g.o.Counter.CountChat([]token.Message{user, assistant, user})
	if err != nil {
		return err
	}
	g.base, g.turn = alone-one, three-alone-2*one
	for _, s := range g.o.Systems {
		n, err := g.o.Counter.CountChat([]token.Message{{Role: "system", Content: s}, user})
		if err != nil {
			return err
		}
		g.base = max(g.base, n-one)
	}
	return nil
}

// Next makes a request.
func (g *Generator) Next() (Request, error) {
	c := &g.open[g.made%len(g.open)]
	if c.talk != nil {
		if e, ok := c.talk.next(g.o.MaxModelLen - g.base - c.tokens); ok {
			return g.request(c, e)
		}
	}
	*c = conversation{number: g.begun, talk: g.source.talk(), last: -1}
	g.begun++
	e, ok := c.talk.next(g.o.MaxModelLen - g.base)
	if !ok {
		return Request{}, fmt.Errorf("drawing request %d of %s: a conversation has no first turn", g.made, g.o.Purpose)
	}
	return g.request(c, e)
}

// Sized makes a request of a length that is given, shortened to the context if need be.
func (g *Generator) Sized(l Length) (Request, error) {
	c := &conversation{number: g.begun, last: -1}
	g.begun++
	return g.request(c, g.words.sized(l, g.o.MaxModelLen-g.base))
}

func (g *Generator) request(c *conversation, e exchange) (Request, error) {
	r := Request{
		Conversation: c.number, History: c.history, After: c.last, Answer: c.answer,
		User: e.user, Length: e.Length, PromptTokens: g.base + c.tokens + e.ISL,
	}
	if g.exact {
		n, err := g.o.Counter.CountChat(g.messages(r))
		if err != nil {
			return Request{}, err
		}
		// Tokens may join where texts meet the template, or part.
		r.PromptTokens = n
		r.OSL = max(1, min(r.OSL, g.o.MaxModelLen-n))
	}
	c.last = g.made
	g.made++
	if e.answer != "" {
		c.answer = e.answer
		c.history = append(c.history[:len(c.history):len(c.history)],
			token.Message{Role: "user", Content: e.user}, token.Message{Role: "assistant", Content: e.answer})
		c.tokens += g.turn + e.ISL + e.answerTokens
	}
	return r, nil
}

// messages is the whole chat of a request.
func (g *Generator) messages(r Request) []token.Message {
	var all []token.Message
	if n := len(g.o.Systems); n > 0 {
		all = append(all, token.Message{Role: "system", Content: g.o.Systems[r.Conversation%n]})
	}
	return append(append(all, r.History...), token.Message{Role: "user", Content: r.User})
}

// Taken is how many rows of its source conversations were begun with.
func (g *Generator) Taken() int {
	if d, ok := g.source.(*dealt); ok {
		return d.at
	}
	return 0
}

// ISL sums up the user messages made so far.
func (g *Generator) ISL() Tally { return g.words.islTally }

// OSL sums up the answers that were asked for.
func (g *Generator) OSL() Tally { return g.words.oslTally }

// Requested are the moments that were asked for: of the lengths that a distribution
// gives before it is clipped, or of the texts of a source before they are cut.
func (g *Generator) Requested() (isl, osl Moments) { return g.source.requested() }

// Systems returns the system prompts of a trial: the same for all its requests that
// have as many of the same length, or those of one purpose where each has its own.
func Systems(s spec.SystemPrompts, seed int64, purpose string, counter token.Counter) []string {
	name := []string{"text", "system prompts"}
	if s.Own {
		name = append(name, purpose)
	}
	w := newWriter(random.Stream(seed, name...), counter)
	texts := make([]string, s.Count)
	for i := range texts {
		texts[i] = string(w.append(nil, s.Tokens))
	}
	return texts
}
