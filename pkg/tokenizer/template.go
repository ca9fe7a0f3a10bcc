package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ardanlabs/jinja"

	"bgbench/pkg/token"
)

// chatTemplate turns a chat into the text that the model reads.
type chatTemplate struct {
	file      string
	template  *jinja.Template
	constants map[string]any
}

// Files beside tokenizer.json in a folder of Hugging Face's transformers.
const (
	configName   = "tokenizer_config.json"
	templateName = "chat_template.jinja"
)

// findTemplate looks for the chat template beside a tokenizer.json; nil where there is
// none.
func findTemplate(tokenizer string) (*chatTemplate, error) {
	dir := filepath.Dir(tokenizer)
	config := filepath.Join(dir, configName)
	var c struct {
		Template json.RawMessage `json:"chat_template"`
		BOS      named           `json:"bos_token"`
		EOS      named           `json:"eos_token"`
	}
	data, err := os.ReadFile(config)
	switch {
	case err == nil:
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, FileError{config, err}
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("reading the chat template: %w", err)
	}
	t := chatTemplate{file: config, constants: map[string]any{"bos_token": string(c.BOS), "eos_token": string(c.EOS)}}
	source := defaultOf(c.Template)
	// The file of its own wins, as it does there.
	own := filepath.Join(dir, templateName)
	if data, err := os.ReadFile(own); err == nil {
		t.file, source = own, string(data)
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the chat template: %w", err)
	}
	if source == "" {
		return nil, nil
	}
	if t.template, err = jinja.Compile(source); err != nil {
		return nil, FileError{t.file, fmt.Errorf("chat_template: %w", err)}
	}
	return &t, nil
}

// named is a token that stands as its text or as an object.
type named string

func (n *named) UnmarshalJSON(data []byte) error {
	var o struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(data, &o) == nil {
		*n = named(o.Content)
		return nil
	}
	return json.Unmarshal(data, (*string)(n))
}

// defaultOf is a template, or the one called default of a list.
func defaultOf(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var list []struct{ Name, Template string }
	if json.Unmarshal(raw, &list) == nil {
		for _, t := range list {
			if t.Name == "default" {
				return t.Template
			}
		}
	}
	return ""
}

func (t *chatTemplate) render(messages []token.Message) (string, error) {
	chat := make([]any, len(messages))
	for i, m := range messages {
		chat[i] = map[string]any{"role": m.Role, "content": m.Content}
	}
	data := map[string]any{"messages": chat, "add_generation_prompt": true}
	for key, value := range t.constants {
		data[key] = value
	}
	text, err := t.template.Render(data)
	if err != nil {
		return "", FileError{t.file, fmt.Errorf("chat_template: %w", err)}
	}
	return text, nil
}
