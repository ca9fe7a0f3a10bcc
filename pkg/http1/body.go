package http1

import (
	"io"
	"net/http"
	"time"
)

// Body is the body of an answer. It is for one goroutine.
type Body struct {
	exchange *exchange
	closing  bool // the connection ends with the answer
	framing  framing
	chunked  chunked
	left     int64 // of a body with a length

	rest []byte // of a piece, what Read had no room for
	at   time.Time
	err  error // final
}

// framing is how the end of a body is found (RFC 9112, 6.3).
type framing uint8

const (
	byChunks framing = iota
	byLength
	byClose
)

// NextPiece returns the next piece of the body, which is never empty, and the instant of the
// socket's read that brought it. The piece is valid until the next call, or until Close. The
// error is io.EOF at the end.
func (b *Body) NextPiece() (piece []byte, at time.Time, err error) {
	if len(b.rest) > 0 {
		piece, b.rest = b.rest, nil
		return piece, b.at, nil
	}
	if b.err != nil {
		return nil, b.at, b.err
	}
	c := b.exchange.c
	switch b.framing {
	case byChunks:
		piece, err = b.chunked.next(c)
	case byLength:
		piece, err = b.nextOfLength(c)
	default:
		for err == nil && len(c.piece) == 0 {
			err = c.more()
		}
		piece = c.take(len(c.piece))
	}
	b.at = c.at
	if err != nil {
		b.end(err)
		return nil, b.at, b.err
	}
	return piece, b.at, nil
}

func (b *Body) nextOfLength(c *conn) ([]byte, error) {
	if b.left == 0 {
		return nil, io.EOF
	}
	if err := c.need(); err != nil {
		return nil, err
	}
	n := int(min(b.left, int64(len(c.piece))))
	b.left -= int64(n)
	return c.take(n), nil
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	piece, _, err := b.NextPiece()
	if err != nil {
		return 0, err
	}
	n := copy(p, piece)
	b.rest = piece[n:]
	return n, nil
}

// Close implements io.Closer. An answer that was not read to its end costs the connection.
func (b *Body) Close() error {
	if b.err == nil {
		b.exchange.end(false)
	}
	b.rest, b.err = nil, http.ErrBodyReadAfterClose
	return nil
}

// end ends the body. The connection can be used again if the body is whole.
func (b *Body) end(err error) {
	if err != io.EOF {
		err = b.exchange.reason(err)
	}
	b.err = err
	b.exchange.end(err == io.EOF && !b.closing)
}
