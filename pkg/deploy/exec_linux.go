package deploy

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent has the system end the command when this process dies, even by a
// signal that it cannot catch. Linux ties this to the thread that starts the
// command, which therefore must not end before the process does.
func dieWithParent(cmd *exec.Cmd) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
