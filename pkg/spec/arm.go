package spec

// Arm is one configuration of the stack under test.
type Arm struct {
	Name        string `yaml:"name" json:"name"`                           // the name in results, folders and the report
	Extends     string `yaml:"extends,omitempty" json:"extends,omitempty"` // resolved away
	Description string `yaml:"description" json:"description"`             // one line for the catalogue and the report
	// Dispatch says how batch work reaches the servers: none, backlog (ordinary
	// requests of class batch-equivalent), sync or async (through the batch gateway).
	Dispatch string  `yaml:"dispatch" json:"dispatch"`
	Backlog  Backlog `yaml:"backlog" json:"backlog"` // only of dispatch backlog
	Gateway  Gateway `yaml:"gateway" json:"gateway"` // only of dispatch sync and async
	Async    Async   `yaml:"async" json:"async"`     // only of dispatch async
	Router   Router  `yaml:"router" json:"router"`   // between clients and engines
	Engine   Engine  `yaml:"engine" json:"engine"`   // the model servers
	// PathLatency is the round trip between client and inference gateway in the
	// model; on real targets the network has its own.
	PathLatency Duration `yaml:"pathLatency" json:"pathLatency"`
	// Promises names the mechanisms that must engage in a cell of the arm, or the cell
	// is INVALID: any of Promises().
	Promises []string `yaml:"promises" json:"promises"`
}

// Ways of dispatching batch work.
const (
	DispatchNone    = "none"
	DispatchBacklog = "backlog"
	DispatchSync    = "sync"
	DispatchAsync   = "async"
)

// Backlog sends the lines of all jobs in file order with a bound on how many are
// in flight, or open loop at Rate requests per second when Rate is above 0.
type Backlog struct {
	Concurrency int     `yaml:"concurrency" json:"concurrency" unit:"requests"` // most requests in flight; not used with a rate
	Rate        float64 `yaml:"rate" json:"rate" unit:"requests/s"`             // open loop at so many, 0 for the bound on requests in flight
	// Objective is the InferenceObjective that the requests name.
	Objective string `yaml:"objective" json:"objective"`
}

// Gateway is the configuration of the batch gateway's processor; the keys are
// those of its Helm chart.
type Gateway struct {
	NumWorkers         int         `yaml:"numWorkers" json:"numWorkers" unit:"jobs"`     // jobs that run at once; there is no default, because it decides whether A ends before B
	PollInterval       Duration    `yaml:"pollInterval" json:"pollInterval"`             // between two looks into an empty queue of jobs
	TaskWaitTime       Duration    `yaml:"taskWaitTime" json:"taskWaitTime"`             // goes to a cluster; the model has no such wait
	Concurrency        Concurrency `yaml:"concurrency" json:"concurrency"`               // bounds on requests in flight
	InferenceObjective string      `yaml:"inferenceObjective" json:"inferenceObjective"` // that its requests name; empty for none, which is priority 0
	// InferenceGateway is global (globalInferenceGateway: one for all models) or
	// per-model (modelGateways, or asyncDispatch.models with dispatch async).
	InferenceGateway string    `yaml:"inferenceGateway" json:"inferenceGateway"`
	RequestTimeout   Duration  `yaml:"requestTimeout" json:"requestTimeout"`         // of one attempt
	MaxRetries       int       `yaml:"maxRetries" json:"maxRetries" unit:"attempts"` // attempts beyond the first
	InitialBackoff   Duration  `yaml:"initialBackoff" json:"initialBackoff"`         // before the first retry
	MaxBackoff       Duration  `yaml:"maxBackoff" json:"maxBackoff"`                 // the longest wait before a retry
	Quirks           Quirks    `yaml:"quirks" json:"quirks"`                         // behaviour of the observed gateway that can be switched off on an emulated stack
	Restarts         []Restart `yaml:"restarts" json:"restarts"`                     // ends of the processor by schedule, on an emulated stack
}

// Ways to tell the processor where requests go.
const (
	InferenceGatewayGlobal   = "global"
	InferenceGatewayPerModel = "per-model"
)

// Concurrency bounds the processor's requests in flight.
type Concurrency struct {
	Global      int  `yaml:"global" json:"global" unit:"requests"`           // bounds each job, not the processor, while gateway.quirks.globalPerJob holds
	PerEndpoint int  `yaml:"perEndpoint" json:"perEndpoint" unit:"requests"` // bounds the processor's requests to one inference gateway, and is where AIMD starts
	AIMD        AIMD `yaml:"aimd" json:"aimd"`                               // changes the limit of an endpoint while it runs
}

// AIMD is the processor's additive-increase, multiplicative-decrease controller.
type AIMD struct {
	Enabled          bool    `yaml:"enabled" json:"enabled"`                                   // adapts the limit of an endpoint; else it is concurrency.perEndpoint
	Min              int     `yaml:"min" json:"min" unit:"requests"`                           // the limit never falls below it
	BackoffFactor    float64 `yaml:"backoffFactor" json:"backoffFactor"`                       // the limit is multiplied by it at a sign of overload
	AdditiveIncrease int     `yaml:"additiveIncrease" json:"additiveIncrease" unit:"requests"` // what is added after as many successes in a row as the limit
}

// Engine is the vLLM deployment; the keys are vLLM's flags in camel case.
type Engine struct {
	GPU                  string  `yaml:"gpu" json:"gpu"`                                               // A100-80, H100 or H200
	Replicas             int     `yaml:"replicas" json:"replicas" unit:"servers"`                      // model servers behind the router
	TensorParallelSize   int     `yaml:"tensorParallelSize" json:"tensorParallelSize" unit:"GPUs"`     // GPUs of a replica
	MaxNumSeqs           int     `yaml:"maxNumSeqs" json:"maxNumSeqs" unit:"requests"`                 // most requests that run at once in a replica
	MaxNumBatchedTokens  int     `yaml:"maxNumBatchedTokens" json:"maxNumBatchedTokens" unit:"tokens"` // most tokens that a step computes
	GPUMemoryUtilization float64 `yaml:"gpuMemoryUtilization" json:"gpuMemoryUtilization"`             // share of the memory that weights and KV cache may take
	EnablePrefixCaching  bool    `yaml:"enablePrefixCaching" json:"enablePrefixCaching"`               // finds the blocks of prompts that were computed before
	EnableChunkedPrefill bool    `yaml:"enableChunkedPrefill" json:"enableChunkedPrefill"`             // a prompt may be spread over several steps
	AsyncScheduling      bool    `yaml:"asyncScheduling" json:"asyncScheduling"`                       // the next step is scheduled while one runs
	SchedulingPolicy     string  `yaml:"schedulingPolicy" json:"schedulingPolicy"`                     // fcfs or priority
	BlockSize            int     `yaml:"blockSize" json:"blockSize" unit:"tokens"`                     // of the KV cache
	// NumGPUBlocks overrides the number of KV blocks that follows from GPU and model.
	NumGPUBlocks int `yaml:"numGPUBlocks" json:"numGPUBlocks" unit:"blocks"`
}
