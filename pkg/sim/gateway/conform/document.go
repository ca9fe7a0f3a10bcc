package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"bgbench/pkg/jsontext"
)

// document is the text of a file of cases. Its errors name file, line and field.
type document struct {
	file string
	text []byte
}

// decode reads the whole document strictly: a key that into does not have is an error.
func (d document) decode(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(d.text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return d.onDecoding(err)
	}
	end := decoder.InputOffset()
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("%s:%d: found more than one JSON value, expected one", d.file, d.lineAt(end))
	}
	return nil
}

// partError is an error in a part of a document that decodes itself.
type partError struct {
	text    []byte // of the part
	message string
}

func (e partError) Error() string { return e.message }

// odd is an error in a part of a document.
func odd(text []byte, format string, args ...any) error {
	return partError{bytes.Clone(text), fmt.Sprintf(format, args...)}
}

func (d document) onDecoding(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var part partError
	switch {
	case errors.As(err, &part):
		return fmt.Errorf("%s:%d: %w", d.file, d.lineAt(int64(bytes.Index(d.text, part.text))), err)
	case errors.As(err, &syntax):
		return fmt.Errorf("%s:%d: %w", d.file, d.lineAt(syntax.Offset), err)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("%s:%d: found %s, expected an object", d.file, d.lineAt(kind.Offset), kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("%s:%d: %s: found %s, expected %s", d.file, d.lineAt(kind.Offset), kind.Field, kind.Value, jsontext.Expected(kind))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s:%d: the file ends inside a JSON value", d.file, d.lineAt(int64(len(d.text))))
	}
	// encoding/json names the first unknown key, not its place.
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		at := bytes.Index(d.text, []byte(name))
		return fmt.Errorf("%s:%d: %s: unknown key in a case", d.file, d.lineAt(int64(at)), strings.Trim(name, `"`))
	}
	return fmt.Errorf("%s: %w", d.file, err)
}

// fault is an error about the value at a path of keys and list indices.
func (d document) fault(path []any, format string, args ...any) error {
	var where strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&where, "[%d]", step)
		default:
			if i > 0 {
				where.WriteByte('.')
			}
			fmt.Fprint(&where, step)
		}
	}
	return fmt.Errorf("%s:%d: %s: %s", d.file, d.lineAt(d.find(path)), &where, fmt.Sprintf(format, args...))
}

// find returns where the value at path begins, or the deepest part of it that exists.
func (d document) find(path []any) int64 {
	decoder := json.NewDecoder(bytes.NewReader(d.text))
	at := int64(0)
	for _, step := range path {
		if _, err := decoder.Token(); err != nil { // [ or {
			return at
		}
		for i := 0; ; i++ {
			if !decoder.More() {
				return at
			}
			here := any(i)
			if _, byKey := step.(string); byKey {
				key, err := decoder.Token()
				if err != nil {
					return at
				}
				here = key
			}
			if here == step {
				at = decoder.InputOffset()
				break
			}
			var skipped json.RawMessage
			if decoder.Decode(&skipped) != nil {
				return at
			}
		}
	}
	return at
}

// lineAt is the line of an offset, or of the next text after it.
func (d document) lineAt(offset int64) int {
	offset = min(max(offset, 0), int64(len(d.text)))
	for offset < int64(len(d.text)) && strings.ContainsRune(" \t\r\n,:", rune(d.text[offset])) {
		offset++
	}
	return 1 + bytes.Count(d.text[:offset], []byte{'\n'})
}
