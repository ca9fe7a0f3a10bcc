package spec

import "slices"

// Validate says what is wrong with a, all of it.
func (a Arm) Validate() error {
	return a.problems().err(string(armKind), a.Name, nil)
}

// GPUs that pkg/sim/engine has constants of.
const (
	GPUA100 = "A100-80"
	GPUH100 = "H100"
	GPUH200 = "H200"
)

// TensorParallelSizes are the numbers of GPUs that share one replica inside a
// server of eight.
func TensorParallelSizes() []int { return []int{1, 2, 4, 8} }

// Scheduling policies of vLLM.
const (
	PolicyFCFS     = "fcfs"
	PolicyPriority = "priority"
)

func (a Arm) problems() problems {
	var is problems
	is.name("name", a.Name)
	is.oneOf("dispatch", a.Dispatch, DispatchNone, DispatchBacklog, DispatchSync, DispatchAsync)
	switch a.Dispatch {
	case DispatchBacklog:
		a.Backlog.problems(&is, "backlog")
	case DispatchSync, DispatchAsync:
		a.Gateway.problems(&is, "gateway", a.Dispatch)
	}
	a.Gateway.restartProblems(&is, "gateway.restarts", a.Dispatch)
	if a.Dispatch == DispatchAsync {
		a.asyncProblems(&is)
	}
	a.Router.problems(&is, "router")
	a.objectiveProblems(&is)
	a.Engine.problems(&is, "engine")
	is.check(a.PathLatency >= 0, "pathLatency", "found %s, expected 0 or more", a.PathLatency)
	a.promiseProblems(&is)
	return is
}

// objectiveProblems refuses an objective that the router does not have: the endpoint
// picker gives such a request priority 0 without a word, and nothing is gated.
func (a Arm) objectiveProblems(is *problems) {
	if a.Router.Kind != RouterEPP {
		return
	}
	known := func(name string) bool {
		return name == "" || slices.ContainsFunc(a.Router.Objectives, func(o Objective) bool { return o.Name == name })
	}
	const unknown = "found %q, which is none of router.objectives"
	is.check(known(a.Backlog.Objective), "backlog.objective", unknown, a.Backlog.Objective)
	is.check(known(a.Gateway.InferenceObjective), "gateway.inferenceObjective", unknown, a.Gateway.InferenceObjective)
}

func (b Backlog) problems(is *problems, path string) {
	is.check(b.Rate >= 0, join(path, "rate"), "found %s, expected 0 (bounded by concurrency) or more", decimal(b.Rate))
	is.check(b.Concurrency >= 1 || b.Rate > 0, join(path, "concurrency"), "found %d, expected 1 or more", b.Concurrency)
}

func (g Gateway) problems(is *problems, path, dispatch string) {
	if g.NumWorkers < 1 {
		is.addf(join(path, "numWorkers"), "found %d, expected 1 or more where dispatch is %s", g.NumWorkers, dispatch)
		is.hintLast("5 is the default of the newest chart; the number decides whether jobs run one after the other or side by side")
	}
	is.check(g.PollInterval > 0, join(path, "pollInterval"), "found %s, expected more than 0", g.PollInterval)
	is.check(g.TaskWaitTime > 0, join(path, "taskWaitTime"), "found %s, expected more than 0", g.TaskWaitTime)
	is.check(g.RequestTimeout > 0, join(path, "requestTimeout"), "found %s, expected more than 0", g.RequestTimeout)
	is.check(g.MaxRetries >= 0, join(path, "maxRetries"), "found %d, expected 0 or more", g.MaxRetries)
	is.check(g.InitialBackoff > 0, join(path, "initialBackoff"), "found %s, expected more than 0", g.InitialBackoff)
	is.check(g.MaxBackoff >= g.InitialBackoff, join(path, "maxBackoff"), "found %s, expected initialBackoff %s or more", g.MaxBackoff, g.InitialBackoff)
	is.oneOf(join(path, "inferenceGateway"), g.InferenceGateway, InferenceGatewayGlobal, InferenceGatewayPerModel)
	g.Concurrency.problems(is, join(path, "concurrency"))
}

// The llm-d batch gateway's processor refuses to start on the same three faults.
func (c Concurrency) problems(is *problems, path string) {
	is.check(c.PerEndpoint >= 1, join(path, "perEndpoint"), "found %d, expected 1 or more", c.PerEndpoint)
	is.check(c.PerEndpoint <= c.Global, join(path, "perEndpoint"), "found %d, expected global %d or less", c.PerEndpoint, c.Global)
	if !c.AIMD.Enabled {
		return
	}
	at := join(path, "aimd")
	is.check(c.AIMD.Min >= 1, join(at, "min"), "found %d, expected 1 or more", c.AIMD.Min)
	is.check(c.AIMD.Min <= c.PerEndpoint, join(at, "min"), "found %d, expected perEndpoint %d or less", c.AIMD.Min, c.PerEndpoint)
	is.check(c.AIMD.BackoffFactor > 0 && c.AIMD.BackoffFactor < 1, join(at, "backoffFactor"),
		"found %s, expected a number between 0 and 1, both excluded", decimal(c.AIMD.BackoffFactor))
	is.check(c.AIMD.AdditiveIncrease >= 1, join(at, "additiveIncrease"), "found %d, expected 1 or more", c.AIMD.AdditiveIncrease)
}

func (e Engine) problems(is *problems, path string) {
	is.oneOf(join(path, "gpu"), e.GPU, GPUA100, GPUH100, GPUH200)
	is.check(e.Replicas >= 1, join(path, "replicas"), "found %d, expected 1 or more", e.Replicas)
	is.check(e.MaxNumSeqs >= 1, join(path, "maxNumSeqs"), "found %d, expected 1 or more", e.MaxNumSeqs)
	// Whether it divides the heads of the model is known where the model is.
	is.check(slices.Contains(TensorParallelSizes(), e.TensorParallelSize), join(path, "tensorParallelSize"),
		"found %d, expected 1, 2, 4 or 8", e.TensorParallelSize)
	// vLLM's SchedulerConfig refuses it the other way round.
	is.check(e.MaxNumBatchedTokens >= e.MaxNumSeqs, join(path, "maxNumBatchedTokens"), "found %d, expected maxNumSeqs %d or more", e.MaxNumBatchedTokens, e.MaxNumSeqs)
	is.check(e.GPUMemoryUtilization > 0 && e.GPUMemoryUtilization <= 1, join(path, "gpuMemoryUtilization"),
		"found %s, expected a share above 0 and up to 1", decimal(e.GPUMemoryUtilization))
	is.oneOf(join(path, "schedulingPolicy"), e.SchedulingPolicy, PolicyFCFS, PolicyPriority)
	is.check(e.BlockSize >= 1, join(path, "blockSize"), "found %d, expected 1 or more tokens", e.BlockSize)
	is.check(e.NumGPUBlocks >= 0, join(path, "numGPUBlocks"), "found %d, expected 0 (what GPU and model give) or more", e.NumGPUBlocks)
}
