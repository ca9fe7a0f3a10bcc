package corpus

import (
	"fmt"
	"strconv"
	"strings"

	"bgbench/pkg/spec"
)

// rowOf takes the text, and the answer if there is one, out of a decoded row.
func rowOf(s spec.Source, v any) (Row, error) {
	found, err := follow(v, s.Field)
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", s.Field, err)
	}
	switch text := found.(type) {
	case string:
		e := Exchange{User: text}
		if s.Answer != "" {
			answer, err := follow(v, s.Answer)
			if err != nil {
				return nil, fmt.Errorf("answer %s: %w", s.Answer, err)
			}
			var ok bool
			if e.Answer, ok = answer.(string); !ok && answer != nil {
				return nil, fmt.Errorf("answer %s: found %s, expected a text", s.Answer, kind(answer))
			}
		}
		return Row{e}, nil
	case []any:
		return exchangesOf(text)
	case nil:
		return nil, nil
	}
	return nil, fmt.Errorf("field %s: found %s, expected a text or a list of turns", s.Field, kind(found))
}

// exchangesOf reads a list of turns, with keys as ShareGPT has them or the chat API.
func exchangesOf(list []any) (Row, error) {
	turns := make([]turn, len(list))
	for i, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("turn %d: found %s, expected an object of role and content, or from and value", i, kind(item))
		}
		text := func(key string) string {
			s, _ := object[key].(string)
			return s
		}
		turns[i] = turn{From: text("from"), Value: text("value"), Role: text("role"), Content: text("content")}
	}
	return exchanges(nil, turns), nil
}

// follow goes down a path of keys and numbers, such as messages.0.content.
func follow(v any, path string) (any, error) {
	for key := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[key]
			if !ok {
				return nil, fmt.Errorf("found no key %q", key)
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil {
				return nil, fmt.Errorf("found a list, expected its %q to be a number", key)
			}
			if i < 0 || i >= len(in) {
				return nil, fmt.Errorf("found a list of %d, expected item %d", len(in), i)
			}
			v = in[i]
		default:
			return nil, fmt.Errorf("found %s before %q, expected an object or a list", kind(v), key)
		}
	}
	return v, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
