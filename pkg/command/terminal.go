package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// ownsTerminal reports whether this process is in the foreground of a terminal, so
// that an interrupt goes to all processes of its group.
func ownsTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
