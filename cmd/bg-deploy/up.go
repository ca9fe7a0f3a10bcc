package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/spec"
)

func upCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "up",
		Usage:       "start a stack and write its descriptor",
		Description: cli.Examples("bg-deploy up --arm s2-ungated --target local -o stack.json"),
		Flags: slices.Concat(requestFlags(), listenFlags(), clusterFlags(), cellFlags(), []ucli.Flag{
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "stack.json", Usage: "`FILE` for the descriptor"},
			&ucli.DurationFlag{Name: "timeout", Usage: "how long the stack may take to answer (default: a minute, on target kube 40)"},
			&ucli.BoolFlag{Name: "keep", Usage: "leave what was made when the stack does not come up, on target kube"},
		}),
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			plan, err := deploy.Plan(request(c))
			if err != nil {
				return err
			}
			if plan.Target == spec.TargetKube {
				stack, err := upOnCluster(c, plan)
				if err != nil {
					return err
				}
				return stack.Write(c.String("output"))
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			ctx, cancel := contextWithTimeout(c, time.Minute, "the stack did not answer in time")
			defer cancel()
			return deploy.Up(ctx, plan, c.String("output"), func(stackFile string) *exec.Cmd {
				return exec.Command(self, serveArgs(c, stackFile)...)
			})
		},
	}
}

// serveArgs are the arguments of the serve command that serves what up was asked for.
func serveArgs(c *ucli.Context, stackFile string) []string {
	r := request(c)
	args := []string{"serve",
		"--arm", r.Arm, "--experiment", r.Experiment, "--profile", r.Profile, "--target", r.Target,
		"--trial", strconv.Itoa(r.Trial), "--host", c.String("host"), "--port", strconv.Itoa(c.Int("port")),
		"--output", stackFile,
	}
	for _, s := range r.Sets {
		args = append(args, "--set", s)
	}
	return args
}
