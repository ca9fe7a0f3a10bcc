package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/textproto"
)

// chunked takes the data out of chunks (RFC 9112, 7.1). It is as strict as net/http, whose
// limits it has.
type chunked struct {
	left   uint64 // bytes of data that the chunk still has
	inside bool   // the end of a chunk's data was not read yet
	excess int64  // bytes of overhead beyond what a sender of small chunks needs
	line   []byte // the start of a line, from earlier reads
}

const (
	// maxChunkLine bounds the line before a chunk, with its extensions.
	maxChunkLine = 4 << 10
	// maxExcess bounds the overhead that is not from small chunks, but from extensions.
	maxExcess = 16 << 10
	// maxTrailer bounds what follows the last chunk.
	maxTrailer = 4 << 10
)

var (
	errChunk        = errors.New("malformed chunked encoding")
	errChunkLength  = errors.New("malformed length of a chunk")
	errChunkLine    = errors.New("line before a chunk does not end in CRLF")
	errChunkTooLong = errors.New("line before a chunk is too long")
	errExcess       = errors.New("chunked encoding contains too much non-data")
	errTrailer      = errors.New("trailer after a chunked body is too long")
	errTrailerEOF   = errors.New("unexpected EOF reading the trailer of a chunked body")
)

// next returns data that was read together. It is valid until the next call. The error is
// io.EOF after the last chunk and the trailer.
func (k *chunked) next(c *conn) ([]byte, error) {
	for {
		if k.left > 0 {
			if err := c.need(); err != nil {
				return nil, err
			}
			n := len(c.piece)
			if uint64(n) > k.left {
				n = int(k.left)
			}
			if k.left -= uint64(n); k.left > 0 {
				return c.take(n), nil
			}
			return k.gather(c, n), nil
		}
		if k.inside {
			if err := k.close(c); err != nil {
				return nil, err
			}
		}
		if err := k.open(c); err != nil {
			return nil, err
		}
	}
}

// gather takes n bytes, the rest of a chunk, and moves the data of the chunks behind it up to
// them, as far as these have come whole: of a burst, a reader then gets many at once
// (BenchmarkClientPerToken in pkg/load).
func (k *chunked) gather(c *conn, n int) []byte {
	piece, next := c.piece, n // next is where the chunk before ended
	for {
		if next+2 > len(piece) || piece[next] != '\r' || piece[next+1] != '\n' {
			break
		}
		size, length, ok := quickLength(piece[next+2:])
		from := next + 2 + length + 2
		if !ok || size == 0 || uint64(len(piece)-from) < size {
			break
		}
		k.count(size, length)
		next = from + int(size)
		n += copy(piece[n:], piece[from:next])
	}
	c.piece = piece[next:]
	return piece[:n:n]
}

// count counts overhead as net/http does: 16 bytes are a small chunk's, and twice its data.
func (k *chunked) count(size uint64, length int) {
	k.excess = max(0, k.excess+int64(length)+2-16-2*int64(size))
}

// close reads the end of a chunk.
func (k *chunked) close(c *conn) error {
	if len(c.piece) >= 2 && c.piece[0] == '\r' && c.piece[1] == '\n' {
		c.piece = c.piece[2:]
		k.inside = false
		return nil
	}
	// net/http looks at both bytes together.
	var end [2]byte
	for i := range end {
		if err := c.need(); err != nil {
			return err
		}
		end[i] = c.take(1)[0]
	}
	if string(end[:]) != "\r\n" {
		return errChunk
	}
	k.inside = false
	return nil
}

// open reads the line before a chunk, and the trailer after the last one.
func (k *chunked) open(c *conn) error {
	size, length, ok := quickLength(c.piece)
	if ok {
		c.piece = c.piece[length+2:]
	} else {
		line, err := k.readLine(c)
		if err != nil {
			return err
		}
		length = len(line)
		if size, err = chunkLength(line); err != nil {
			return err
		}
	}
	k.count(size, length)
	if k.excess > maxExcess {
		return errExcess
	}
	if size == 0 {
		return k.trailer(c)
	}
	k.left, k.inside = size, true
	return nil
}

// quickLength reads the line of a chunk as nearly all servers send it: some digits and
// CRLF. It reports false for any other, and where it has not come whole.
func quickLength(piece []byte) (size uint64, length int, ok bool) {
	for i, b := range piece {
		digit := hexDigit(b)
		if digit < 0 {
			return size, i, b == '\r' && i > 0 && i+1 < len(piece) && piece[i+1] == '\n'
		}
		if i == 8 {
			break // let the other one count them
		}
		size = size<<4 | uint64(digit)
	}
	return 0, 0, false
}

// hexDigit is the value of a digit, -1 for another byte.
func hexDigit(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b && b <= 'f':
		return int(b-'a') + 10
	case 'A' <= b && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}

// readLine reads the line before a chunk. It is valid until more is called.
func (k *chunked) readLine(c *conn) ([]byte, error) {
	k.line = k.line[:0]
	for {
		if err := c.need(); err != nil {
			return nil, err
		}
		end := bytes.IndexByte(c.piece, '\n')
		n := end + 1
		if end < 0 {
			n = len(c.piece)
		}
		if len(k.line)+n > maxChunkLine {
			return nil, errChunkTooLong
		}
		part := c.take(n)
		if end < 0 {
			k.line = append(k.line, part...)
			continue
		}
		line := part
		if len(k.line) > 0 {
			k.line = append(k.line, part...)
			line = k.line
		}
		// A bare LF, or a CR elsewhere, is where two readers of the same bytes may find
		// different chunks (RFC 9112, 7.1).
		if len(line) < 2 || bytes.IndexByte(line, '\r') != len(line)-2 {
			return nil, errChunkLine
		}
		return line[:len(line)-2], nil
	}
}

// chunkLength reads the size of a chunk in front of its extensions, which are dropped.
func chunkLength(line []byte) (size uint64, err error) {
	digits, _, _ := bytes.Cut(bytes.TrimRight(line, " \t"), []byte(";"))
	if len(digits) == 0 || len(digits) > 16 {
		return 0, errChunkLength
	}
	for _, b := range digits {
		digit := hexDigit(b)
		if digit < 0 {
			return 0, errChunkLength
		}
		size = size<<4 | uint64(digit)
	}
	return size, nil
}

// trailer reads what follows the last chunk and drops it. It returns io.EOF where all is
// well.
func (k *chunked) trailer(c *conn) error {
	k.line = k.line[:0]
	for {
		if err := c.need(); err == io.ErrUnexpectedEOF {
			return errTrailerEOF
		} else if err != nil {
			return err
		}
		n := bytes.IndexByte(c.piece, '\n') + 1
		if n == 0 {
			n = len(c.piece)
		}
		if len(k.line)+n > maxTrailer {
			return errTrailer
		}
		k.line = append(k.line, c.take(n)...)
		if string(k.line) == "\r\n" {
			return io.EOF
		}
		if bytes.HasSuffix(k.line, []byte("\r\n\r\n")) {
			break
		}
	}
	_, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(k.line))).ReadMIMEHeader()
	if err != nil {
		return unexpected(err)
	}
	return io.EOF
}
