package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// Process identifies a process beyond its number, which the system reuses.
type Process struct {
	PID int `json:"pid"` // on this machine
	// CreatedMS is when the system says that the process began, in milliseconds
	// since 1970, so that down never ends a stranger.
	CreatedMS int64  `json:"created_ms"`
	LogFile   string `json:"log_file"` // of its standard error
}

// start runs cmd in a session of its own, so that it outlives us and our
// terminal, with its output in logFile.
func start(cmd *exec.Cmd, logFile string) (Process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return Process{}, fmt.Errorf("opening the log of the stack: %w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Process{}, fmt.Errorf("starting the stack: %w", err)
	}
	created, err := createdMS(cmd.Process.Pid)
	if err != nil {
		cmd.Process.Kill()
		return Process{}, fmt.Errorf("starting the stack: it ended at once, see %s", logFile)
	}
	return Process{PID: cmd.Process.Pid, CreatedMS: created, LogFile: logFile}, nil
}

func createdMS(pid int) (int64, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, err
	}
	return p.CreateTime()
}

// createdTolerance allows for the rounding of the boot time, from which the
// system's answer is computed anew each time.
const createdTolerance = 2 * time.Second

// Alive reports whether the process still runs and is the one that was started.
func (p Process) Alive() bool {
	created, err := createdMS(p.PID)
	if err != nil {
		return false
	}
	apart := time.Duration(created-p.CreatedMS) * time.Millisecond
	return apart.Abs() <= createdTolerance && !p.zombie()
}

// zombie reports whether the process has ended and only waits to be collected.
func (p Process) zombie() bool {
	proc, err := process.NewProcess(int32(p.PID))
	if err != nil {
		return true
	}
	status, err := proc.Status()
	return err == nil && len(status) > 0 && status[0] == process.Zombie
}

// pollEvery is the pause between two looks at a process or an endpoint that
// somebody waits for.
const pollEvery = 20 * time.Millisecond

// End asks the process to end, kills it when it is still there after grace, and
// returns when it is gone.
func (p Process) End(ctx context.Context, grace time.Duration) error {
	if !p.Alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending process %d: %w", p.PID, err)
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for p.Alive() {
		select {
		case <-tick.C:
		case <-deadline.C:
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("killing process %d: %w", p.PID, err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
