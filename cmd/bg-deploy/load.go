package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

func loadCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "load",
		Usage: "play a cell from inside the cluster and bring its results back",
		Description: "A Job in the cell's namespace scrapes and loads the stack; inputs and results are on\n" +
			"volumes. Pods that restart, are killed or evicted, and nodes under pressure, are written to\n" +
			"disturbances.jsonl. A Job that an earlier call left running is waited for.\n\n" +
			cli.Examples("bg-deploy load --stack stack.json --inputs inputs/t1 -o cells/s2-ungated/t1"),
		Flags: append(clusterFlags(),
			&ucli.StringFlag{Name: "stack", Required: true, Usage: "`FILE` that describes the stack"},
			&ucli.StringFlag{Name: "inputs", Required: true, Usage: "`FOLDER` with the inputs of the trial"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Required: true, Usage: "`FOLDER` of the cell"},
			&ucli.IntFlag{Name: "trial", Value: 1, Usage: "trial `K`"},
			&ucli.IntFlag{Name: "shards", Value: 1, Usage: "`N` pods that play the cell together, each with volumes of its own"},
			&ucli.StringFlag{Name: "storage-class", Usage: "`CLASS` of the volumes of shards (default: the cluster's)"},
			&ucli.StringFlag{Name: "volume-size", Usage: "`SIZE` of each of them (default: 10Gi)"},
			&ucli.StringFlag{Name: "versions", Usage: "`FILE` of versions"},
			&ucli.StringSliceFlag{Name: "image", Usage: "the image of these tools: `bgbench=REPOSITORY:TAG`"},
		),
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			stack, err := deploy.ReadStack(c.String("stack"))
			if err != nil {
				return cli.Usage(err)
			}
			if stack.Kube == nil {
				return cli.WithHint(cli.Usagef("%s: found target %s, expected %s", c.String("stack"), stack.Target, spec.TargetKube), "bg-load run")
			}
			if n := c.Int("shards"); n < 1 || n > record.MaxShards {
				return cli.Usagef("--shards: found %d, expected 1 to %d", n, record.MaxShards)
			}
			if err := kube.CheckVolumeSize(c.String("volume-size")); err != nil {
				return cli.Usage(err)
			}
			versions, err := kube.LoadVersions(c.String("versions"), nil, list(c, "image"))
			if err != nil {
				return cli.Usage(err)
			}
			cluster, err := kube.Connect(c.String("kubeconfig"), kubeContext(c, stack))
			if err != nil {
				return err
			}
			return cluster.Load(c.Context, kube.LoadOptions{
				Stack: stack, Trial: c.Int("trial"), Inputs: c.String("inputs"), Output: c.String("output"),
				Shards: c.Int("shards"), StorageClass: c.String("storage-class"), VolumeSize: c.String("volume-size"),
				Image: versions.Tools(), Talk: c.App.ErrWriter,
			})
		},
	}
}
