package inputs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
)

// LineError says what is wrong with a line of an input file.
type LineError struct {
	File  string
	Line  int    // 1-based
	Field string // empty where the line as a whole is meant
	Fault string // what was found and what was expected
}

func (e LineError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Fault)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Field, e.Fault)
}

// sealedFile is a file with what the manifest says of it.
type sealedFile struct {
	path string
	seal File
	data []byte
}

// check hands over each line without its end, and then compares the file with its
// seal: a fault that has a line is told before one that has none.
func (f sealedFile) check(read func(line []byte) (field, fault string)) error {
	n := 0
	for rest := f.data; len(rest) > 0; {
		n++
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole {
			return LineError{f.path, n, "", "found no end of the line, expected a whole one: the file was cut"}
		}
		if field, fault := read(line); fault != "" {
			return LineError{f.path, n, field, fault}
		}
		rest = after
	}
	if n != f.seal.Lines {
		return LineError{f.path, n, "", fmt.Sprintf("found %d lines, expected %d (%s)", n, f.seal.Lines, ManifestName)}
	}
	if !f.intact() {
		sum := f.sum()
		return fmt.Errorf("%s: found SHA-256 %.12s…, expected %.12s… (%s): the file was changed", f.path, sum, f.seal.SHA256, ManifestName)
	}
	return nil
}

// intact reports whether the file is byte for byte what was sealed.
func (f sealedFile) intact() bool {
	if int64(len(f.data)) == f.seal.Bytes && crcText(crc32.Checksum(f.data, castagnoli)) == f.seal.CRC32C {
		return true
	}
	return f.sum() == f.seal.SHA256
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crcText(crc uint32) string { return fmt.Sprintf("%08x", crc) }

func (f sealedFile) sum() string {
	sum := sha256.Sum256(f.data)
	return hex.EncodeToString(sum[:])
}
