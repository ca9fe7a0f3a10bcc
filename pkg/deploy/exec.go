package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bgbench/pkg/command"
	"bgbench/pkg/spec"
)

// ExecOptions say where Exec puts the stack.
type ExecOptions struct {
	Host      string
	Port      int    // of the inference gateway; 0 is any free one
	StackFile string // empty: a temporary file
}

// Exec runs a command against a stack that lives as long as the command does. The
// error of a command that failed carries its exit code.
func Exec(ctx context.Context, plan Stack, program command.Command, o ExecOptions) error {
	if err := program.Find(); err != nil {
		return err
	}
	if plan.Target == spec.TargetModel {
		return RunAgainst(ctx, plan, program, o.StackFile)
	}
	local, err := ListenLocal(plan, o.Host, o.Port)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- local.Run(serving) }()
	err = RunAgainst(ctx, local.Stack(), program, o.StackFile)
	stop()
	return errors.Join(err, <-ended)
}

// RunAgainst runs a command that finds the descriptor of a running stack in file, a
// temporary one where it is empty.
func RunAgainst(ctx context.Context, s Stack, program command.Command, file string) error {
	if file == "" {
		dir, err := os.MkdirTemp("", "bg-deploy-")
		if err != nil {
			return fmt.Errorf("making a folder for the descriptor: %w", err)
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "stack.json")
	}
	program.Env = append(program.Env, "BG_STACK="+file)
	if err := s.Write(file); err != nil {
		return err
	}
	return program.Run(ctx)
}
