package main

import (
	"path/filepath"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/deploy/standin"
	"bgbench/pkg/sim/router"
	"bgbench/pkg/spec"
)

// standInArgs turns the command line of a program that an image has under another name
// into ours: a pod that runs `vllm serve MODEL` gets the emulated one.
func standInArgs(args []string) []string {
	if len(args) > 1 && filepath.Base(args[0]) == "vllm" && args[1] == "serve" {
		return append([]string{"bg-deploy", "serve", "vllm"}, args[2:]...)
	}
	return args
}

// serveOne are the commands that serve one emulated component in the place of its
// upstream image.
func serveOne() []*ucli.Command {
	return []*ucli.Command{serveVLLM(), serveRouter(), serveGateway(), serveAPIServer(), serveAsync()}
}

func serveVLLM() *ucli.Command {
	on := func(name string) []ucli.Flag {
		return []ucli.Flag{&ucli.BoolFlag{Name: name, Hidden: true}, &ucli.BoolFlag{Name: "no-" + name, Hidden: true}}
	}
	flags := []ucli.Flag{
		&ucli.StringFlag{Name: "model", Usage: "`NAME` of the model, in the place of the argument"},
		&ucli.StringFlag{Name: "gpu", Value: "H100", Usage: "`GPU` that is emulated"},
		&ucli.IntFlag{Name: "port", Value: 8000, Usage: "`PORT` to listen on"},
		&ucli.IntFlag{Name: "max-model-len", Usage: "as vLLM's, as the flags below"},
		&ucli.IntFlag{Name: "max-num-seqs"},
		&ucli.IntFlag{Name: "max-num-batched-tokens"},
		&ucli.IntFlag{Name: "tensor-parallel-size", Value: 1},
		&ucli.Float64Flag{Name: "gpu-memory-utilization"},
		&ucli.IntFlag{Name: "block-size"},
		&ucli.IntFlag{Name: "num-gpu-blocks-override"},
		&ucli.StringFlag{Name: "scheduling-policy", Value: "fcfs"},
		&ucli.StringFlag{Name: "revision", Hidden: true},
		&ucli.StringFlag{Name: "tokenizer-revision", Hidden: true},
		// Of llm-d-inference-sim, whose pace an emulated engine does not need to be told.
		&ucli.StringFlag{Name: "time-to-first-token", Hidden: true},
		&ucli.StringFlag{Name: "inter-token-latency", Hidden: true},
		&ucli.IntFlag{Name: "max-waiting-queue-length", Hidden: true},
		&ucli.BoolFlag{Name: "force-dummy-tokenizer", Hidden: true},
		&ucli.Int64Flag{Name: "seed", Hidden: true},
	}
	for _, name := range []string{"enable-prefix-caching", "enable-chunked-prefill", "async-scheduling"} {
		flags = append(flags, on(name)...)
	}
	return &ucli.Command{
		Name: "vllm", Usage: "serve the emulated engine, with vLLM's flags", ArgsUsage: "MODEL",
		Description: cli.Examples("bg-deploy serve vllm Qwen/Qwen3-8B --max-num-seqs 32"),
		Flags:       flags,
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			model := c.String("model")
			if c.Args().Present() {
				model = c.Args().First()
			}
			return standin.VLLM{
				Model: model, MaxModelLen: c.Int("max-model-len"), Port: c.Int("port"),
				Engine: spec.Engine{
					GPU: c.String("gpu"), MaxNumSeqs: c.Int("max-num-seqs"), MaxNumBatchedTokens: c.Int("max-num-batched-tokens"),
					TensorParallelSize: c.Int("tensor-parallel-size"), GPUMemoryUtilization: c.Float64("gpu-memory-utilization"),
					BlockSize: c.Int("block-size"), NumGPUBlocks: c.Int("num-gpu-blocks-override"), SchedulingPolicy: c.String("scheduling-policy"),
					EnablePrefixCaching: !c.Bool("no-enable-prefix-caching"), EnableChunkedPrefill: !c.Bool("no-enable-chunked-prefill"),
					AsyncScheduling: !c.Bool("no-async-scheduling"),
				},
			}.Run(c.Context)
		},
	}
}

func serveRouter() *ucli.Command {
	return &ucli.Command{
		Name: "router", Usage: "serve the emulated router before the pods of an InferencePool",
		Description: cli.Examples("bg-deploy serve router --config-file /config/plugins.yaml --pool-name pool --pool-namespace bench"),
		Flags: append(clusterFlags(),
			&ucli.StringFlag{Name: "config-file", Required: true, Usage: "`FILE` with the EndpointPickerConfig"},
			&ucli.StringFlag{Name: "pool-name", Required: true, Usage: "`NAME` of the InferencePool"},
			&ucli.StringFlag{Name: "pool-namespace", Required: true, Usage: "`NAME` of its namespace"},
			&ucli.BoolFlag{Name: "allow-experimental-plugins", Usage: "take plugins of Alpha stability"},
			&ucli.IntFlag{Name: "v", Hidden: true},
			&ucli.IntFlag{Name: "port", Value: 8081, Usage: "`PORT` of the proxy"},
			&ucli.IntFlag{Name: "metrics-port", Value: 9090, Usage: "`PORT` of /metrics"},
			&ucli.DurationFlag{Name: "dispatch-lag", Value: router.DefaultDispatchLag, Usage: "mean time from a dispatch to its count"},
		),
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			cluster, err := kube.Connect(c.String("kubeconfig"), c.String("context"))
			if err != nil {
				return err
			}
			return standin.Router{
				ConfigFile: c.String("config-file"), Pool: c.String("pool-name"), Namespace: c.String("pool-namespace"),
				Flags: router.Flags{AllowExperimentalPlugins: c.Bool("allow-experimental-plugins")},
				Port:  c.Int("port"), MetricsPort: c.Int("metrics-port"), DispatchLag: c.Duration("dispatch-lag"), Cluster: cluster,
			}.Run(c.Context)
		},
	}
}

func serveGateway() *ucli.Command {
	return &ucli.Command{
		Name: "gateway", Usage: "serve the emulated batch gateway, from the processor's configuration",
		Description: cli.Examples("bg-deploy serve gateway --config /etc/processor/config.yaml"),
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "config", Required: true, Usage: "`FILE` with the processor's configuration"},
			&ucli.StringFlag{Name: "queue-url", Value: "http://llm-d-async:8080", Usage: "`URL` of the emulated async processor"},
			&ucli.IntFlag{Name: "port", Value: 8000, Usage: "`PORT` of the Batch API"},
			&ucli.IntFlag{Name: "observability-port", Value: 8081, Usage: "`PORT` of the apiserver's /metrics"},
			&ucli.IntFlag{Name: "metrics-port", Value: 9090, Usage: "`PORT` of the processor's /metrics"},
		},
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			return standin.Gateway{
				ConfigFile: c.String("config"), QueueURL: c.String("queue-url"),
				APIPort: c.Int("port"), APIMetrics: c.Int("observability-port"), MetricsPort: c.Int("metrics-port"),
			}.Run(c.Context)
		},
	}
}

func serveAPIServer() *ucli.Command {
	return &ucli.Command{
		Name: "apiserver", Usage: "serve in the apiserver's place what an emulated batch gateway elsewhere answers",
		Description: cli.Examples("bg-deploy serve apiserver --gateway batch-gateway-processor"),
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "gateway", Required: true, Usage: "`HOST` of the emulated batch gateway"},
			&ucli.IntFlag{Name: "port", Value: 8000, Usage: "`PORT` of the Batch API"},
			&ucli.IntFlag{Name: "observability-port", Value: 8081, Usage: "`PORT` of /metrics"},
		},
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			return standin.Front{Host: c.String("gateway"), APIPort: c.Int("port"), APIMetrics: c.Int("observability-port")}.Run(c.Context)
		},
	}
}

func serveAsync() *ucli.Command {
	return &ucli.Command{
		Name: "async", Usage: "serve the emulated async processor",
		Description: cli.Examples("bg-deploy serve async --queues-config /config/queues.yaml --concurrency 64"),
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "queues-config", Required: true, Usage: "`FILE` with the list of queues"},
			&ucli.IntFlag{Name: "concurrency", Value: 64, Usage: "workers"},
			&ucli.IntFlag{Name: "poll-interval-ms", Value: 1000, Usage: "pause between two polls"},
			&ucli.IntFlag{Name: "batch-size", Value: 10, Usage: "messages of a poll"},
			&ucli.DurationFlag{Name: "prometheus-cache-ttl", Value: 5 * time.Second, Usage: "how long a gate uses a value again"},
			&ucli.IntFlag{Name: "metrics-port", Value: 9090, Usage: "`PORT` of /metrics"},
			&ucli.IntFlag{Name: "health-port", Value: 8081, Usage: "`PORT` of /healthz and /readyz"},
			&ucli.IntFlag{Name: "queue-port", Value: 8080, Usage: "`PORT` on which the emulated batch gateway submits"},
		},
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			return standin.Async{
				QueuesFile: c.String("queues-config"), Concurrency: c.Int("concurrency"),
				PollInterval: time.Duration(c.Int("poll-interval-ms")) * time.Millisecond, BatchSize: c.Int("batch-size"), CacheTTL: c.Duration("prometheus-cache-ttl"),
				MetricsPort: c.Int("metrics-port"), HealthPort: c.Int("health-port"), QueuePort: c.Int("queue-port"),
			}.Run(c.Context)
		},
	}
}
