package cli

import (
	"os"

	"golang.org/x/term"
)

// Columns is the width of the terminal that standard output is; ok is false where it is
// none.
func (e Env) Columns() (columns int, ok bool) {
	f, isFile := e.Stdout.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	return columns, err == nil && columns > 0
}

// Colour reports whether standard output may be coloured: it is a terminal, and NO_COLOR is
// empty or not set (no-color.org).
func (e Env) Colour() bool {
	no, _ := e.LookupEnv("NO_COLOR")
	_, terminal := e.Columns()
	return terminal && no == ""
}
