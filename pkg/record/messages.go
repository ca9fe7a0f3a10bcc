package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// ErrTruncated is found in the error of a stream that does not end with its end
// mark: its writer was killed, or is still writing.
var ErrTruncated = errors.New("cut off before its end")

// continuation begins each message of an Arrow IPC stream (Arrow columnar format,
// encapsulated message format, since 0.15).
var continuation = []byte{0xff, 0xff, 0xff, 0xff}

// messages reads the messages of a stream and nothing behind its end mark. Arrow's
// own reader takes a stream that was cut between two messages for a whole one, and
// believes any length that it is told.
type messages struct{ r io.Reader }

const (
	maxMessageHead = 16 << 20
	// directBody is the largest body that is allocated before its bytes are seen.
	directBody = 64 << 20
)

func (m messages) Message() (*ipc.Message, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(m.r, prefix[:]); err != nil {
		return nil, cut(err)
	}
	if [4]byte(prefix[:4]) != [4]byte(continuation) {
		return nil, fmt.Errorf("%w: found % x where a message begins, expected % x", ErrTruncated, prefix[:4], continuation)
	}
	size := int32(binary.LittleEndian.Uint32(prefix[4:]))
	if size == 0 {
		return nil, io.EOF
	}
	if size < 0 || size > maxMessageHead {
		return nil, fmt.Errorf("%w: found a message head of %d bytes, expected at most %d", ErrTruncated, size, maxMessageHead)
	}
	head := make([]byte, size)
	if _, err := io.ReadFull(m.r, head); err != nil {
		return nil, cut(err)
	}
	length, err := bodyLength(head)
	if err != nil {
		return nil, cut(err)
	}
	body, err := readBody(m.r, length)
	if err != nil {
		return nil, cut(err)
	}
	return ipc.NewMessage(memory.NewBufferBytes(head), memory.NewBufferBytes(body)), nil
}

// Retain and Release have nothing to do: the garbage collector owns the buffers.
func (messages) Retain()  {}
func (messages) Release() {}

// bodyLength asks the head of a message. Flatbuffers do not check what they read, so
// a head that is none shows as a panic of an index.
func bodyLength(head []byte) (length int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("found a damaged message head: %v", p)
		}
	}()
	return ipc.NewMessage(memory.NewBufferBytes(head), memory.NewBufferBytes(nil)).BodyLen(), nil
}

func readBody(r io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return nil, fmt.Errorf("found a message body of %d bytes", size)
	}
	if size <= directBody {
		body := make([]byte, size)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(r, size))
	if err == nil && int64(len(body)) < size {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// cut hides io.EOF, which Arrow's reader would take for the end mark.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return fmt.Errorf("%w: %v", ErrTruncated, err)
}

// bounded allocates no more than a sane column of a batch needs. Arrow believes the
// lengths in a damaged batch; its reader turns the panic into an error.
type bounded struct{ memory.GoAllocator }

const maxBuffer = 1 << 30

func (b *bounded) Allocate(size int) []byte {
	checkBuffer(size)
	return b.GoAllocator.Allocate(size)
}

func (b *bounded) Reallocate(size int, old []byte) []byte {
	checkBuffer(size)
	return b.GoAllocator.Reallocate(size, old)
}

func checkBuffer(size int) {
	if size < 0 || size > maxBuffer {
		panic(fmt.Sprintf("found a buffer of %d bytes, expected at most %d", size, maxBuffer))
	}
}
