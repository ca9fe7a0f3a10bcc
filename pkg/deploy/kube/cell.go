package kube

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/openai"
	"bgbench/pkg/spec"
)

// Modes of target kube: what stands for the model servers.
const (
	ModeSim = "sim" // llm-d-inference-sim, no GPU
	ModeGPU = "gpu" // vLLM
)

// Options are what a cluster needs to know beside the arm.
type Options struct {
	Mode      string
	Pool      string // who makes the model servers' pods: deployment when empty, or kserve
	Namespace string // of the cell; empty: prefix, arm and trial
	Prefix    string // of namespaces that are made up; bgbench when empty
	Trial     int

	Versions Versions
	Revision string // commit of the model's repository, over that of Versions
	// GPUs of a replica; -1 is the arm's tensorParallelSize, 0 asks for none: the
	// image is then one that runs on CPUs.
	GPUs         int
	NodeSelector map[string]string // of the model servers
	Tolerations  []string          // keys of taints of nodes that the model servers may be on
	// WeightsPath is the folder of a node in which its model servers keep what they fetch of
	// a model's repository, for the next cell; empty: each pod fetches all of it.
	WeightsPath string
	ModelToken  openai.Secret // for a gated model

	Router       string // standalone when empty, or gateway
	GatewayClass string // with gateway; istio when empty

	StorageClass string // of the volumes; empty is the cluster's default
	VolumeSize   string

	PrometheusURL string            // that a gate asks, as seen from the cluster
	MonitorLabels map[string]string // by which a Prometheus operator finds monitors; none: no monitors
	Registry      Registry
}

// Cell is a stack to be on a cluster.
type Cell struct {
	Plan deploy.Stack
	Options
	// Notes name the keys of the arm that have no counterpart here.
	Notes []string
}

// Labels that every object of a cell carries. Nothing without both is ever deleted.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelRun       = "bgbench.dev/run"
	managedBy      = "bg-deploy"
	// labelComponent finds the pods of what we deploy without a chart.
	labelComponent = "app.kubernetes.io/name"
)

// annotationRequest is the digest of what was asked for: an interrupted up goes on
// when it is the same.
const annotationRequest = "bgbench.dev/request"

// Names of the objects of a cell; those of charts follow from their releases.
const (
	engineName         = "vllm"
	enginePort         = 8000
	routerRelease      = "bgbench" // and the InferencePool, as in the model
	routerName         = routerRelease + "-epp"
	routerPort         = 8081
	eppMetricsPort     = 9090
	gatewayRelease     = "batch-gateway"
	apiserverName      = gatewayRelease + "-apiserver"
	processorName      = gatewayRelease + "-processor"
	apiserverPort      = 8000
	observabilityPort  = 8081
	processorPort      = 9090
	asyncRelease       = "llm-d-async"
	asyncPort          = 9090
	secretName         = "batch-gateway-secrets"
	tokenSecretName    = "hf-token"
	filesVolume        = "batch-gateway-files"
	inputsVolume       = "benchmark-inputs"
	resultsVolume      = "benchmark-results"
	requestQueue       = "llm-d-async:requests:" + routerRelease
	resultQueue        = "llm-d-async:results:" + routerRelease
	objectiveGroup     = "llm-d.ai"
	legacyObjective    = "inference.networking.x-k8s.io"
	poolGroup          = "inference.networking.k8s.io"
	defaultVolumeSize  = "10Gi"
	defaultPrefix      = "bgbench"
	maxNamespaceLength = 63 // a DNS label
)

// NewCell checks that the arm can run on a cluster.
func NewCell(plan deploy.Stack, o Options) (Cell, error) {
	if o.Mode == "" {
		o.Mode = ModeSim
	}
	if o.Mode != ModeSim && o.Mode != ModeGPU {
		return Cell{}, fmt.Errorf("--mode: found %q, expected %s or %s", o.Mode, ModeSim, ModeGPU)
	}
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.VolumeSize == "" {
		o.VolumeSize = defaultVolumeSize
	}
	if err := CheckVolumeSize(o.VolumeSize); err != nil {
		return Cell{}, err
	}
	if o.Pool == "" {
		o.Pool = PoolDeployment
	}
	if o.Pool != PoolDeployment && o.Pool != PoolKServe {
		return Cell{}, fmt.Errorf("--pool: found %q, expected %s or %s", o.Pool, PoolDeployment, PoolKServe)
	}
	if o.Pool == PoolKServe && o.Mode != ModeGPU {
		return Cell{}, cli.WithHint(fmt.Errorf("--pool: found %s in mode %s, expected it in mode %s: the presets of KServe are those of vLLM", o.Pool, o.Mode, ModeGPU),
			"--mode gpu; with --gpus 0 its image runs on CPUs")
	}
	if o.WeightsPath != "" && (!path.IsAbs(o.WeightsPath) || path.Clean(o.WeightsPath) == "/") {
		return Cell{}, fmt.Errorf("--weights-path: found %q, expected the absolute path of a folder on the nodes", o.WeightsPath)
	}
	if o.WeightsPath != "" && o.Mode != ModeGPU {
		return Cell{}, fmt.Errorf("--weights-path: found it in mode %s, expected mode %s: the simulator loads nothing", o.Mode, ModeGPU)
	}
	if o.Router == "" {
		o.Router = RouterStandalone
	}
	if o.Router != RouterStandalone && o.Router != RouterGateway {
		return Cell{}, fmt.Errorf("--router: found %q, expected %s or %s", o.Router, RouterStandalone, RouterGateway)
	}
	if o.GatewayClass == "" {
		o.GatewayClass = defaultGatewayClass
	}
	if o.Namespace == "" {
		o.Namespace = namespaceOf(o.Prefix, plan.Arm.Name, o.Trial)
	}
	if !dnsLabel.MatchString(o.Namespace) || len(o.Namespace) > maxNamespaceLength {
		return Cell{}, fmt.Errorf("--namespace: found %q, expected up to %d lower-case letters, digits and -", o.Namespace, maxNamespaceLength)
	}
	if o.GPUs < -1 {
		return Cell{}, fmt.Errorf("--gpus: found %d, expected 0 or more, or -1 for the arm's tensorParallelSize", o.GPUs)
	}
	if o.GPUs == -1 {
		o.GPUs = max(1, plan.Arm.Engine.TensorParallelSize)
	}
	if o.Mode == ModeSim {
		o.GPUs = 0
	}
	c := Cell{Plan: plan, Options: o}
	if err := c.refuse(); err != nil {
		return Cell{}, err
	}
	c.Notes = c.unknownHere()
	return c, nil
}

var (
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	notDNS   = regexp.MustCompile(`[^a-z0-9]+`)
)

func namespaceOf(prefix, arm string, trial int) string {
	tail := "-t" + strconv.Itoa(max(1, trial))
	name := prefix + "-" + strings.Trim(notDNS.ReplaceAllString(strings.ToLower(arm), "-"), "-")
	return strings.TrimRight(name[:min(len(name), maxNamespaceLength-len(tail))], "-") + tail
}

// refuse reports the first key of the arm that a cluster cannot honour.
func (c Cell) refuse() error {
	arm := c.Plan.Arm
	bad := func(key, format string, args ...any) error {
		return fmt.Errorf("arm %s: %s: %s", arm.Name, key, fmt.Sprintf(format, args...))
	}
	if arm.Dispatch == spec.DispatchSync || arm.Dispatch == spec.DispatchAsync {
		if off := arm.Gateway.Quirks.Off(); len(off) > 0 {
			return cli.WithHint(bad("gateway.quirks."+off[0], "found false, expected true on target kube: the batch gateway behaves that way and has no switch for it"),
				"ask the model: --target model")
		}
		if len(arm.Gateway.Restarts) > 0 {
			return cli.WithHint(bad("gateway.restarts", "found %d, expected none on target kube: only an emulated processor is killed by schedule", len(arm.Gateway.Restarts)),
				"ask the model: --target model")
		}
	}
	if arm.Dispatch == spec.DispatchAsync {
		if arm.Async.Resume {
			return cli.WithHint(bad("async.resume", "found true, expected false on target kube: no release of llm-d-async resumes a stream"),
				"--set async.resume=false")
		}
		if arm.Async.Gate.Type == spec.GatePrometheusBudget && c.PrometheusURL == "" {
			return cli.WithHint(bad("async.gate.type", "found %s, which asks a Prometheus server, and no address of one", arm.Async.Gate.Type),
				"give its address as the cluster sees it: --prometheus-url URL")
		}
	}
	if c.Mode == ModeGPU && c.GPUs > 0 && c.revision() == "" {
		return cli.WithHint(errors.New("model "+c.Plan.Model+": found no revision, expected the commit of its repository"),
			"--revision COMMIT, or models in a --versions file")
	}
	return nil
}

// unknownHere names what of the arm only the model knows.
func (c Cell) unknownHere() []string {
	arm := c.Plan.Arm
	var notes []string
	add := func(key, format string, args ...any) { notes = append(notes, key+": "+fmt.Sprintf(format, args...)) }
	if arm.PathLatency > 0 {
		add("pathLatency", "the network has its own")
	}
	if arm.Router.Kind == spec.RouterRoundRobin && arm.Engine.Replicas > 1 {
		add("router.kind", "a Service spreads connections at random, not in turn")
	}
	if arm.Router.Kind == spec.RouterEPP {
		add("router.dispatchLag", "the router has its own")
	}
	if arm.Dispatch == spec.DispatchAsync {
		add("async.requestTimeout", "the chart has no key for it: the processor's default holds")
		if arm.Async.Gate.Type == spec.GatePrometheusBudget {
			add("async.gate.scrapeInterval", "that of the Prometheus server holds")
		}
	}
	switch {
	case c.Mode == ModeSim:
		add("engine", "inference-sim has of it only replicas and maxNumSeqs: neither its batches nor its memory are a GPU's")
	case len(c.NodeSelector) == 0:
		add("engine.gpu", "found %s, and no --node-selector that asks for it", arm.Engine.GPU)
	}
	return notes
}

func (c Cell) revision() string {
	if c.Revision != "" {
		return c.Revision
	}
	return c.Versions.Models[c.Plan.Model]
}

// image returns a pinned image.
func (c Cell) image(name string) Image { return c.Versions.Images[name] }

// labels are those of every object of the cell.
func (c Cell) labels() map[string]string {
	return map[string]string{LabelManagedBy: managedBy, LabelRun: c.Plan.RunID}
}

// hasGateway reports whether the arm has a batch gateway.
func (c Cell) hasGateway() bool {
	return c.Plan.Arm.Dispatch == spec.DispatchSync || c.Plan.Arm.Dispatch == spec.DispatchAsync
}

func (c Cell) hasRouter() bool { return c.Plan.Arm.Router.Kind == spec.RouterEPP }
func (c Cell) hasAsync() bool  { return c.Plan.Arm.Dispatch == spec.DispatchAsync }

// small reports whether the stack shares a machine of a few cores, as one without
// GPUs does.
func (c Cell) small() bool { return c.GPUs == 0 }

// host is the name of a Service in the cluster.
func (c Cell) host(service string) string {
	return service + "." + c.Namespace + ".svc"
}

// inferenceURL is the inference gateway as pods reach it.
func (c Cell) inferenceURL() string {
	service, port := c.front()
	return fmt.Sprintf("http://%s:%d", c.host(service), port)
}
