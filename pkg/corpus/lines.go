package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/spec"
)

// maxLine is far above any row of a data set; it keeps a file without line ends from
// filling memory.
const maxLine = 64 << 20

// readLines reads an object a line.
func readLines(r io.Reader, s spec.Source, row func(Row) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	n := 0
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return at("line", n, jsontext.Line(err))
		}
		found, err := rowOf(s, v)
		if err != nil {
			return at("line", n, err)
		}
		if err := row(found); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return at("line", n+1, fmt.Errorf("found more than %d bytes, expected an object a line", maxLine))
	} else if err != nil {
		return err
	}
	return nil
}
