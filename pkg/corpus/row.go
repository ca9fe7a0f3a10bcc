package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"bgbench/pkg/spec"
)

// Row is a conversation of one exchange or more.
type Row []Exchange

// Exchange is what one said and what the other answered, empty where nothing is known of
// an answer.
type Exchange struct{ User, Answer string }

// Digest says what was read.
type Digest struct {
	Rows   int // with a text
	Empty  int // without one
	Bytes  int64
	SHA256 string
}

// FileError says that a file is not what it was taken for.
type FileError struct {
	File string
	At   string // such as "line 3", empty where the file as a whole is meant
	Err  error
}

func (e FileError) Error() string {
	if e.At == "" {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.File, e.At, e.Err)
}

func (e FileError) Unwrap() error { return e.Err }

// Read hands over each row of the source's file that has a text. A row holds until the
// next one.
func Read(s spec.Source, row func(Row) error) (Digest, error) {
	f, err := os.Open(s.File)
	if err != nil {
		return Digest{}, named(s.File, err)
	}
	defer f.Close()
	sum := sha256.New()
	all := io.TeeReader(f, sum)
	var d Digest
	counted := func(r Row) error {
		if len(r) == 0 || r[0].User == "" {
			d.Empty++
			return nil
		}
		d.Rows++
		return row(r)
	}
	switch s.Type {
	case spec.ShareGPT:
		err = readShareGPT(all, counted)
	case spec.MMLU:
		err = readMMLU(all, counted)
	case spec.Parquet:
		err = readParquet(f, s, counted)
		if _, seek := f.Seek(0, io.SeekStart); err == nil && seek != nil {
			err = seek
		}
	default:
		err = readLines(all, s, counted)
	}
	if err == nil {
		// What a reader left behind the last row belongs to the file.
		_, err = io.Copy(io.Discard, all)
	}
	if err != nil {
		return Digest{}, named(s.File, err)
	}
	if d.Rows == 0 {
		return Digest{}, FileError{s.File, "", errors.New("found no row with a text, expected one or more")}
	}
	info, err := f.Stat()
	if err != nil {
		return Digest{}, fmt.Errorf("reading texts: %w", err)
	}
	d.Bytes, d.SHA256 = info.Size(), hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

// named puts the name of the file before what is wrong with it.
func named(file string, err error) error {
	var fault FileError
	var access *fs.PathError
	switch {
	case errors.As(err, &fault):
		fault.File = file
		return fault
	case errors.As(err, &access):
		return FileError{file, "", access.Err}
	}
	return FileError{file, "", err}
}

// at says where in a file something is wrong.
func at(unit string, n int, err error) error {
	return FileError{At: fmt.Sprintf("%s %d", unit, n), Err: err}
}
