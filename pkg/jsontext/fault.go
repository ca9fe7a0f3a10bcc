// Package jsontext says what is wrong with a JSON file in the words of its reader: file,
// line, field, what was found, what was expected. It decodes nothing. Every package that
// reads a JSON file of a user calls it.
//
//	if err := json.Unmarshal(data, &c); err != nil {
//		return jsontext.Fault(path, data, 0, err)
//	}
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Fault names file, line and field of an error of encoding/json about the value that
// begins at an offset of data. Any other error has the name of the file before it.
func Fault(name string, data []byte, offset int64, err error) error {
	line := func(at int64) int {
		return 1 + bytes.Count(data[:min(max(offset+at-1, 0), int64(len(data)))], []byte("\n"))
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return fmt.Errorf("%s:%d: not JSON: %w", name, line(syntax.Offset), syntax)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("%s:%d: found a JSON %s, expected %s", name, line(kind.Offset), kind.Value, Expected(kind))
	case errors.As(err, &kind):
		return fmt.Errorf("%s:%d: %s: found a JSON %s, expected %s", name, line(kind.Offset), kind.Field, kind.Value, Expected(kind))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: cut off or not JSON: %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Expected is what the Go type of an error is in JSON.
func Expected(kind *json.UnmarshalTypeError) string {
	goType := kind.Type.String()
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "an array"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"):
		return "a whole number"
	case goType == "string":
		return "a string"
	case goType == "bool":
		return "true or false"
	}
	return "an object"
}
