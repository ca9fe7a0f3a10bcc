// Package jsontext says what is wrong with a JSON file in the words of its reader: file,
// line, field, what was found, what was expected. Every package that reads a JSON file of a
// user calls it; which keys there are is for the types of the caller to say.
//
//	if err := jsontext.Decode(path, data, &c); err != nil {
//		return err
//	}
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Decode decodes the content of the file called name.
func Decode(name string, data []byte, to any) error {
	return Fault(name, data, 0, json.Unmarshal(data, to))
}

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
	case errors.As(err, &kind):
		return fmt.Errorf("%s:%d: %w", name, line(kind.Offset), Line(err))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: cut off or not JSON: %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Field says at which field what is wrong, the field empty where the text as a whole is meant.
func Field(err error) (field, fault string) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return "", fmt.Sprintf("not JSON at byte %d: %s", syntax.Offset, syntax)
	case errors.As(err, &kind):
		return kind.Field, fmt.Sprintf("found a JSON %s, expected %s", kind.Value, Expected(kind))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "", "cut off or not JSON: " + err.Error()
	}
	if key, ok := strings.CutPrefix(err.Error(), `json: unknown field `); ok {
		return strings.Trim(key, `"`), "found a key that is not known"
	}
	return "", err.Error()
}

// Line is Field as an error, for a text of one line whose file and line the caller names.
func Line(err error) error {
	field, fault := Field(err)
	if field != "" {
		field += ": "
	}
	return errors.New(field + fault)
}

// Expected is what the Go type of an error is in JSON.
func Expected(kind *json.UnmarshalTypeError) string {
	switch kind.Type.Kind() {
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "an object"
}
