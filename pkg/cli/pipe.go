package cli

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// errReaderGone says that the program reading standard output has had enough, as
// head does. It is no failure of ours.
var errReaderGone = errors.New("the reader of standard output is gone")

// pipe is standard output that may be closed at its other end. The process gets to
// see that only if it ignores SIGPIPE, which ends it otherwise.
type pipe struct{ w io.Writer }

func (p pipe) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = fmt.Errorf("%w: %w", errReaderGone, err)
	}
	return n, err
}
