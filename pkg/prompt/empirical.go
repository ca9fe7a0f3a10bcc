package prompt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// LengthsError says that a file of lengths is of no use.
type LengthsError struct {
	File string
	Line int // 0 where the file as a whole is meant
	Err  error
}

func (e LengthsError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("lengths %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("lengths %s:%d: %v", e.File, e.Line, e.Err)
}

func (e LengthsError) Unwrap() error { return e.Err }

func readLengths(file string) ([]float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, LengthsError{file, 0, errors.Unwrap(err)} // without the name, which it has
	}
	defer f.Close()
	lengths, line, err := parseLengths(f)
	if err != nil {
		return nil, LengthsError{file, line, err}
	}
	return lengths, nil
}

// maxLengths keeps a wrong file from filling memory.
const maxLengths = 10_000_000

// parseLengths reads a number a line; an empty line is left out. line is that of err.
func parseLengths(r io.Reader) (lengths []float64, line int, _ error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line++
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0) || n > math.MaxInt32 {
			return nil, line, fmt.Errorf("found %q, expected a number of tokens", text)
		}
		if len(lengths) == maxLengths {
			return nil, line, fmt.Errorf("found more than %d lengths, expected as many at most", maxLengths)
		}
		lengths = append(lengths, n)
	}
	if err := lines.Err(); err != nil {
		return nil, line + 1, err
	}
	if len(lengths) == 0 {
		return nil, 0, errors.New("found none, expected a number of tokens a line")
	}
	return lengths, 0, nil
}
