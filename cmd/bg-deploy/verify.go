package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/spec"
)

func verifyCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "verify",
		Usage:     "read back what is live and compare it with the arm; exit 1 at a mismatch",
		ArgsUsage: "[STACK]",
		Description: "On target kube: images, the endpoint picker's configuration and what its log says of it,\n" +
			"objectives and ceilings, the processor's configuration, AIMD, and a probe request of each\n" +
			"class. An emulated stack is what its descriptor says: there its addresses are asked.\n\n" +
			cli.Examples("bg-deploy verify stack.json"),
		Flags: append(clusterFlags(), &ucli.StringFlag{Name: "versions", Usage: "`FILE` of versions that the stack was brought up with"},
			&ucli.StringSliceFlag{Name: "image", Usage: "another image, as in up: `NAME=REPOSITORY:TAG`"},
			&ucli.IntFlag{Name: "gpus", Value: -1, Usage: "`N` GPUs of a replica, as in up"}),
		Action: func(c *ucli.Context) error {
			stack, _, err := readStack(c)
			if err != nil {
				return err
			}
			if stack.Target == spec.TargetModel {
				return nil // nothing runs that could be another thing
			}
			if stack.Kube == nil {
				return printStatus(c, stack)
			}
			return verifyOnCluster(c, stack)
		},
	}
}

func verifyOnCluster(c *ucli.Context, stack deploy.Stack) error {
	versions, err := kube.LoadVersions(c.String("versions"), nil, list(c, "image"))
	if err != nil {
		return cli.Usage(err)
	}
	cell, err := kube.CellOf(stack, kube.Options{Versions: versions, GPUs: c.Int("gpus")})
	if err != nil {
		return cli.Usage(err)
	}
	cluster, err := kube.Connect(c.String("kubeconfig"), kubeContext(c, stack))
	if err != nil {
		return err
	}
	checks, _, err := cluster.Verify(c.Context, cell)
	if err != nil {
		return err
	}
	if err := printChecks(c.App.Writer, checks); err != nil {
		return err
	}
	return kube.Mismatch(checks)
}

// kubeContext is the context of the flag, else of the descriptor.
func kubeContext(c *ucli.Context, stack deploy.Stack) string {
	if name := c.String("context"); name != "" {
		return name
	}
	return stack.Kube.Context
}

func printChecks(w io.Writer, checks []kube.Check) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, check := range checks {
		state := "ok"
		if !check.OK {
			state = "MISMATCH, expected " + check.Expected
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", check.Name, check.Found, state)
	}
	return table.Flush()
}
