package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Env is the world outside a tool, so that a test can be one.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Now            func() time.Time
	LookupEnv      func(string) (string, bool)
	// Terminal reports whether Stderr is a terminal, which decides how progress looks.
	Terminal bool
}

// OSEnv is the environment of the process.
func OSEnv() Env {
	return Env{
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		Now:       time.Now,
		LookupEnv: os.LookupEnv,
		Terminal:  term.IsTerminal(int(os.Stderr.Fd())),
	}
}
