package corpus

import (
	"bgbench/pkg/jsontext"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// turn is one of a conversation, in ShareGPT's words or in those of the chat API.
type turn struct {
	From    string `json:"from"`
	Value   string `json:"value"`
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (t turn) text() string {
	if t.Value != "" {
		return t.Value
	}
	return t.Content
}

// speaker is who says a turn.
func (t turn) speaker() speaker {
	name := t.From
	if name == "" {
		name = t.Role
	}
	switch name {
	case "human", "user":
		return asks
	case "gpt", "chatgpt", "bing", "bard", "assistant":
		return answers
	}
	return elsewise
}

type speaker int

const (
	elsewise speaker = iota // the system, a tool
	asks
	answers
)

// exchanges pairs what was asked with what was answered. A conversation begins with the
// first question and ends where two of a kind follow one another; system turns are left
// out, because the profile has system prompts of its own.
func exchanges(row Row, turns []turn) Row {
	row = row[:0]
	for _, t := range turns {
		switch t.speaker() {
		case asks:
			if n := len(row); n > 0 && row[n-1].Answer == "" {
				return row
			}
			row = append(row, Exchange{User: t.text()})
		case answers:
			n := len(row)
			if n == 0 {
				continue // an answer to what is not there
			}
			if row[n-1].Answer != "" {
				return row
			}
			row[n-1].Answer = t.text()
		}
	}
	return row
}

// readShareGPT reads a list of objects with conversations, one object at a time.
func readShareGPT(r io.Reader, row func(Row) error) error {
	d := json.NewDecoder(r)
	open, err := d.Token()
	if err != nil {
		return fmt.Errorf("found no JSON (%w), expected a list of conversations", unwrapEOF(err))
	}
	if open != json.Delim('[') {
		return fmt.Errorf("found %v, expected a list of objects with conversations", open)
	}
	var buf Row
	n := 0
	for d.More() {
		n++
		var o struct {
			Conversations []turn `json:"conversations"`
		}
		if err := d.Decode(&o); err != nil {
			return at("conversation", n, unwrapEOF(err))
		}
		buf = exchanges(buf, o.Conversations)
		if err := row(buf); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return at("conversation", n+1, unwrapEOF(err))
	}
	return nil
}

// unwrapEOF says what the end of a file means to its reader.
func unwrapEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends too early")
	}
	return jsontext.Line(err)
}
