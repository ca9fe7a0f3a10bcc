package command

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent has the system end the command when this process dies, even by a
// signal that it cannot catch. Linux ties this to the thread that starts the
// command, which the caller keeps until it calls release.
func dieWithParent(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return runtime.UnlockOSThread
}
