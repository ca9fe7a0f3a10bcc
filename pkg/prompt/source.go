package prompt

import (
	"sort"
	"unicode/utf8"

	"bgbench/pkg/corpus"
	"bgbench/pkg/random"
	"bgbench/pkg/spec"
	"bgbench/pkg/token"
)

// source has conversations to give.
type source interface {
	talk() talk
	requested() (isl, osl Moments)
}

// talk is one conversation. next returns its next exchange, which fits room tokens; ok
// is false where there is no more, or no more that fits. The first always fits.
type talk interface {
	next(room int) (_ exchange, ok bool)
}

// exchange is a user message and how long an answer is asked for. The answer is for the
// history of the exchanges after it, empty where there are none.
type exchange struct {
	user string
	Length
	answer       string
	answerTokens int
}

// words is the source of texts that are made of words, as long as distributions say.
type words struct {
	isl, osl           sampler
	text, answers      writer
	turns              turns
	context            int
	least              Length
	islTally, oslTally Tally
	counter            token.Counter
	ownAnswers         bool // those of a file are as long as they are
}

func newWords(o Options) (*words, error) {
	p := o.Prompt
	isl, err := newSampler(p.ISL, random.Stream(o.Seed, "isl", o.Purpose))
	if err != nil {
		return nil, err
	}
	osl, err := newSampler(p.OSL, random.Stream(o.Seed, "osl", o.Purpose))
	if err != nil {
		return nil, err
	}
	w := &words{
		isl: isl, osl: osl,
		text:    newWriter(random.Stream(o.Seed, "text", o.Purpose), o.Counter),
		answers: newWriter(random.Stream(o.Seed, "answers", o.Purpose), o.Counter),
		turns:   newTurns(p.Conversation, random.Stream(o.Seed, "turns", o.Purpose)),
		least:   Length{p.ISL.Min, p.OSL.Min},
		counter: o.Counter,
	}
	if p.Conversation != nil {
		w.context = p.Conversation.Context
	}
	w.ownAnswers = p.Source != nil && !p.Source.DrawnAnswers
	return w, nil
}

func (w *words) requested() (isl, osl Moments) { return w.isl.requested(), w.osl.requested() }

func (w *words) talk() talk { return &spoken{w: w, turns: w.turns.next(), first: true} }

// sized makes an exchange of a length that is given.
func (w *words) sized(l Length, room int) exchange {
	fitted := fit(l, 1, room)
	capped := fitted.ISL < l.ISL
	e := exchange{Length: fitted}
	e.user, e.ISL = w.text.text(fitted.ISL)
	w.islTally.add(e.ISL, false, capped)
	w.oslTally.add(fitted.OSL, false, fitted.OSL < l.OSL)
	return e
}

// spoken is a conversation in words.
type spoken struct {
	w     *words
	turns int // that are left
	first bool
}

func (s *spoken) next(room int) (exchange, bool) {
	w := s.w
	if s.turns == 0 || !s.first && room < w.least.ISL+w.least.OSL {
		return exchange{}, false
	}
	isl, islClipped := w.isl.next()
	osl, oslClipped := w.osl.next()
	context := 0
	if s.first {
		context = min(w.context, room-w.least.ISL-w.least.OSL)
	}
	fitted := fit(Length{isl, osl}, w.least.ISL, room-context)
	e := exchange{Length: fitted}
	e.user, e.ISL = w.text.text(fitted.ISL + context)
	w.islTally.add(e.ISL-context, islClipped, fitted.ISL < isl)
	w.oslTally.add(fitted.OSL, oslClipped, fitted.OSL < osl)
	s.turns--
	s.first = false
	if s.turns > 0 {
		e.answer, e.answerTokens = w.answers.text(fitted.OSL)
	}
	return e, true
}

// fit shortens a request to room: first its prompt, down to least, then its answer,
// because the answer decides how long the request occupies the server.
func fit(l Length, least, room int) Length {
	over := max(l.ISL+l.OSL-room, 0)
	cut := max(0, min(over, l.ISL-least))
	return Length{l.ISL - cut, l.OSL - (over - cut)}
}

// dealt is the source of texts from a file. Rows that run out are dealt once more.
type dealt struct {
	words *words
	rows  []corpus.Row
	at    int
	// asked are the lengths of the texts, and of the answers, as the file has them.
	askedISL, askedOSL Tally
}

func (d *dealt) requested() (isl, osl Moments) {
	isl, osl = d.askedISL.Realised(), d.askedOSL.Realised()
	if d.askedOSL.N == 0 {
		osl = d.words.osl.requested()
	}
	return isl, osl
}

func (d *dealt) talk() talk {
	row := d.rows[d.at%len(d.rows)]
	d.at++
	return &read{d: d, row: row, turns: d.words.turns.next(), first: true}
}

// read is a conversation of a file.
type read struct {
	d     *dealt
	row   corpus.Row
	turns int
	first bool
}

func (r *read) next(room int) (exchange, bool) {
	if r.turns == 0 || len(r.row) == 0 || r.row[0].User == "" {
		return exchange{}, false
	}
	w, said := r.d.words, r.row[0]
	isl := w.counter.Count(said.User)
	osl, clipped := 0, false
	own := w.ownAnswers && said.Answer != ""
	if own {
		n := w.counter.Count(said.Answer)
		osl, clipped = w.osl.clip(float64(n))
	} else {
		osl, clipped = w.osl.next()
	}
	if !r.first && isl+osl > room {
		return exchange{}, false
	}
	fitted := fit(Length{isl, osl}, 1, room)
	user := said.User
	if fitted.ISL < isl {
		user = cut(w.counter, user, fitted.ISL)
		fitted.ISL = w.counter.Count(user)
	}
	r.d.askedISL.add(isl, false, false)
	if own {
		r.d.askedOSL.add(osl, false, false)
	}
	w.islTally.add(fitted.ISL, false, fitted.ISL < isl)
	w.oslTally.add(fitted.OSL, clipped, fitted.OSL < osl)
	r.row, r.first = r.row[1:], false
	r.turns--
	e := exchange{user: user, Length: fitted}
	if r.turns > 0 && len(r.row) > 0 {
		e.answer, e.answerTokens = said.Answer, w.counter.Count(said.Answer)
		if e.answer == "" {
			e.answer, e.answerTokens = w.answers.text(fitted.OSL)
		}
	}
	return e, true
}

// cut returns the longest beginning of text that has at most so many tokens, as far as a
// longer text has no fewer of them.
func cut(counter token.Counter, text string, tokens int) string {
	// The first length that is too long; at the length of the text it is.
	end := sort.Search(len(text), func(n int) bool { return counter.Count(text[:n]) > tokens }) - 1
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:max(end, 0)]
}

// Fits says whether a row may be dealt to a class: whether its first text has as many
// tokens as the bounds of the class's isl allow.
func Fits(p spec.Prompt, counter token.Counter, row corpus.Row) bool {
	n := counter.Count(row[0].User)
	return n >= p.ISL.Min && n <= p.ISL.Max
}
