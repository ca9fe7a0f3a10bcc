package main

import (
	"io"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy/kube"
)

func rbacCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "rbac",
		Usage:       "print the rights that target kube needs, as YAML",
		Description: cli.Examples("bg-deploy rbac | kubectl apply -f -"),
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			_, err := io.WriteString(c.App.Writer, kube.RBAC)
			return err
		},
	}
}
