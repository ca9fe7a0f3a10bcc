package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
)

// surviveClosedPipe lets a write to a pipe whose reader is gone return an error,
// where SIGPIPE would end the process. Unlike an ignored signal a caught one is not
// handed down to the programs that we start.
func surviveClosedPipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// readerGone reports whether err says that the program reading standard output has
// had enough, as head does. That is no failure of ours.
func readerGone(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && at.Path == os.Stdout.Name() && errors.Is(at.Err, syscall.EPIPE)
}
