package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/command"
	"bgbench/pkg/deploy"
	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/openai"
)

// cellFlags say what a cluster needs to know beside the arm.
func cellFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "mode", Value: kube.ModeSim, Usage: "sim (llm-d-inference-sim) or gpu (vLLM), on target kube"},
		&ucli.StringFlag{Name: "pool", Value: kube.PoolDeployment, Usage: "deployment, or kserve (an LLMInferenceService of which KServe makes the pods; with --mode gpu)"},
		&ucli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "`NAME` of the cell's namespace (default: prefix, arm and trial)"},
		&ucli.StringFlag{Name: "namespace-prefix", Value: "bgbench", Usage: "`PREFIX` of namespaces"},
		&ucli.StringFlag{Name: "versions", Usage: "`FILE` of chart, image and model versions (default: those that this tool was built with)"},
		&ucli.StringSliceFlag{Name: "chart", Usage: "another chart: `NAME=PATH` or NAME=oci://REF@VERSION"},
		&ucli.StringSliceFlag{Name: "image", Usage: "another image: `NAME=REPOSITORY:TAG` or NAME=REPOSITORY@DIGEST"},
		&ucli.BoolFlag{Name: "plain-http", Usage: "pull charts without TLS"},
		&ucli.StringFlag{Name: "revision", Usage: "`COMMIT` of the model's repository"},
		&ucli.StringFlag{Name: "model-token-file", Usage: "`FILE` with the token of Hugging Face for a gated model"},
		&ucli.StringFlag{Name: "weights-path", Usage: "`DIR` of the nodes where model servers keep the model for later cells (default: each cell fetches it)"},
		&ucli.IntFlag{Name: "gpus", Value: -1, Usage: "`N` GPUs of a replica (default: its tensorParallelSize; 0: an image that runs on CPUs)"},
		&ucli.StringSliceFlag{Name: "node-selector", Usage: "`LABEL=VALUE` of the nodes of model servers"},
		&ucli.StringSliceFlag{Name: "toleration", Usage: "`KEY` of a taint of nodes that model servers may be on"},
		&ucli.StringFlag{Name: "router", Value: kube.RouterStandalone, Usage: "standalone (Envoy beside the endpoint picker) or gateway (behind a Gateway that the cluster implements)"},
		&ucli.StringFlag{Name: "gateway-class", Value: "istio", Usage: "`CLASS` of the Gateway, with --router gateway"},
		&ucli.StringFlag{Name: "storage-class", Usage: "`CLASS` of the volumes (default: the cluster's)"},
		&ucli.StringFlag{Name: "volume-size", Usage: "`SIZE` of each volume (default: 10Gi)"},
		&ucli.StringFlag{Name: "prometheus-url", EnvVars: []string{"PROMETHEUS_URL"}, Usage: "`URL` of the Prometheus server that a gate asks, as the cluster sees it"},
		&ucli.StringSliceFlag{Name: "monitor-label", Usage: "`LABEL=VALUE` by which a Prometheus operator finds monitors (default: no monitors)"},
	}
}

// clusterFlags say which cluster.
func clusterFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "kubeconfig", Usage: "`FILE` (default: KUBECONFIG, else that of the home directory)"},
		&ucli.StringFlag{Name: "context", Usage: "`NAME` in the kubeconfig (default: its current one)"},
	}
}

// cellOf reads the flags back and checks that the arm can be on a cluster.
func cellOf(c *ucli.Context, plan deploy.Stack) (kube.Cell, error) {
	versions, err := kube.LoadVersions(c.String("versions"), list(c, "chart"), list(c, "image"))
	if err != nil {
		return kube.Cell{}, cli.Usage(err)
	}
	o := kube.Options{
		Mode: c.String("mode"), Pool: c.String("pool"), Namespace: c.String("namespace"), Prefix: c.String("namespace-prefix"), Trial: c.Int("trial"),
		Versions: versions, Revision: c.String("revision"), GPUs: c.Int("gpus"), WeightsPath: c.String("weights-path"),
		StorageClass: c.String("storage-class"), VolumeSize: c.String("volume-size"), PrometheusURL: c.String("prometheus-url"),
		Tolerations: list(c, "toleration"), Router: c.String("router"), GatewayClass: c.String("gateway-class"),
		Registry: kube.Registry{PlainHTTP: c.Bool("plain-http")},
	}
	if path := c.String("model-token-file"); path != "" {
		if o.ModelToken, err = openai.ReadSecret(path); err != nil {
			return kube.Cell{}, cli.Usagef("--model-token-file: %w", err)
		}
	}
	if o.NodeSelector, err = labels("node-selector", list(c, "node-selector")); err != nil {
		return kube.Cell{}, err
	}
	if o.MonitorLabels, err = labels("monitor-label", list(c, "monitor-label")); err != nil {
		return kube.Cell{}, err
	}
	cell, err := kube.NewCell(plan, o)
	return cell, cli.Usage(err)
}

// list is a flag of several values, whose twin in the environment has commas between them.
func list(c *ucli.Context, flag string) []string {
	var values []string
	for _, text := range c.StringSlice(flag) {
		values = append(values, strings.Split(text, ",")...)
	}
	return values
}

func labels(flag string, texts []string) (map[string]string, error) {
	found := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, cli.Usagef("--%s: found %q, expected LABEL=VALUE", flag, text)
		}
		found[name] = value
	}
	return found, nil
}

// upOnCluster brings a cell up, reads it back and writes its descriptor.
func upOnCluster(c *ucli.Context, plan deploy.Stack) (stack deploy.Stack, err error) {
	cell, err := cellOf(c, plan)
	if err != nil {
		return stack, err
	}
	cluster, err := kube.Connect(c.String("kubeconfig"), c.String("context"))
	if err != nil {
		return stack, err
	}
	ctx, cancel := contextWithTimeout(c, upTimeout, "the stack was not ready in time")
	defer cancel()
	stack, err = cluster.Start(ctx, cell, c.App.ErrWriter)
	if err == nil || c.Bool("keep") || c.Context.Err() != nil || !kube.Ours(err) {
		return stack, err
	}
	// What failed is said once more below the talk of the teardown.
	fmt.Fprintf(c.App.ErrWriter, "bg-deploy: %s\ntearing down (--keep leaves it)\n", err)
	ending, done := withoutCancel(c)
	defer done()
	if downErr := cluster.Down(ending, cell.Namespace, "", c.App.ErrWriter); downErr != nil {
		return stack, fmt.Errorf("%w\nand tearing down: %w", err, downErr)
	}
	return stack, err
}

// execOnCluster runs a command against a cell that lives as long as it. The cell is torn
// down however the command ended, unless --keep says to leave one that failed.
func execOnCluster(c *ucli.Context, plan deploy.Stack, program command.Command) error {
	if err := program.Find(); err != nil {
		return err
	}
	stack, err := upOnCluster(c, plan)
	if err != nil {
		return err
	}
	err = deploy.RunAgainst(c.Context, stack, program, c.String("output"))
	if err != nil && c.Bool("keep") {
		fmt.Fprintf(c.App.ErrWriter, "left: namespace %s (--keep)\n", stack.Kube.Namespace)
		return err
	}
	cluster, connectErr := kube.Connect(c.String("kubeconfig"), stack.Kube.Context)
	if connectErr != nil {
		return errors.Join(err, connectErr)
	}
	ending, done := withoutCancel(c)
	defer done()
	return errors.Join(err, cluster.Down(ending, stack.Kube.Namespace, stack.RunID, c.App.ErrWriter))
}

// withoutCancel is the context of a teardown, which an interrupt does not end.
func withoutCancel(c *ucli.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.WithoutCancel(c.Context), downTimeout, fmt.Errorf("not gone within %s", downTimeout))
}

// upTimeout bounds the start of a cell, which may load tens of gigabytes of weights.
const upTimeout = 40 * time.Minute

// downTimeout bounds the teardown of a namespace, whose pods have half a minute and more
// to end.
const downTimeout = 5 * time.Minute

// downOnCluster ends what a descriptor on target kube describes.
func downOnCluster(c *ucli.Context, namespace, kubeContext, runID string) error {
	cluster, err := kube.Connect(c.String("kubeconfig"), kubeContext)
	if err != nil {
		return err
	}
	ctx, cancel := contextWithTimeout(c, downTimeout, "the stack was not gone in time")
	defer cancel()
	return cluster.Down(ctx, namespace, runID, c.App.ErrWriter)
}
