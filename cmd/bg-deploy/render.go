package main

import (
	"bytes"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/spec"
)

func renderCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "render",
		Usage: "print everything that would be applied, as YAML",
		Description: "On target kube the objects in the order in which up applies them. A chart stands\n" +
			"there with its values; --expand pulls the charts and prints their objects too. On the\n" +
			"other targets it is the descriptor.\n\n" +
			cli.Examples(
				"bg-deploy render --arm s4-flow-control-aimd --target kube",
				"bg-deploy render --arm s4-flow-control-aimd --target kube --expand --chart router=./llm-d-router/config/charts/llm-d-router-standalone"),
		Flags: append(append(requestFlags(), cellFlags()...),
			&ucli.BoolFlag{Name: "expand", Usage: "pull the charts and print the objects that they make"},
			&ucli.StringFlag{Name: "run-id", Usage: "`ID` that labels the objects (default: a new one)"},
		),
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			plan, err := deploy.Plan(request(c))
			if err != nil {
				return err
			}
			if id := c.String("run-id"); id != "" {
				plan.RunID = id
			}
			if plan.Target != spec.TargetKube {
				text, err := plan.JSON()
				if err == nil {
					_, err = c.App.Writer.Write(text)
				}
				return err
			}
			cell, err := cellOf(c, plan)
			if err != nil {
				return err
			}
			var page bytes.Buffer // nothing is printed of what cannot be rendered whole
			if err := cell.Render(c.Context, &page, kube.RenderOptions{Expand: c.Bool("expand")}); err != nil {
				return err
			}
			_, err = page.WriteTo(c.App.Writer)
			return err
		},
	}
}
