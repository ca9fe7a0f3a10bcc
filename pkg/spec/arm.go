package spec

// Arm is one configuration of the stack under test.
type Arm struct {
	Name        string `yaml:"name" json:"name"`
	Extends     string `yaml:"extends,omitempty" json:"extends,omitempty"` // resolved away
	Description string `yaml:"description" json:"description"`
	// Dispatch says how batch work reaches the servers: none, backlog (ordinary
	// requests of class batch-equivalent), sync or async (through the batch gateway).
	Dispatch string  `yaml:"dispatch" json:"dispatch"`
	Backlog  Backlog `yaml:"backlog" json:"backlog"`
	Gateway  Gateway `yaml:"gateway" json:"gateway"`
	Async    Async   `yaml:"async" json:"async"`
	Router   Router  `yaml:"router" json:"router"`
	Engine   Engine  `yaml:"engine" json:"engine"`
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
	Concurrency int     `yaml:"concurrency" json:"concurrency"`
	Rate        float64 `yaml:"rate" json:"rate"`
	// Objective is the InferenceObjective that the requests name.
	Objective string `yaml:"objective" json:"objective"`
}

// Gateway is the configuration of the batch gateway's processor; the keys are
// those of its Helm chart.
type Gateway struct {
	NumWorkers         int         `yaml:"numWorkers" json:"numWorkers"`
	PollInterval       Duration    `yaml:"pollInterval" json:"pollInterval"`
	TaskWaitTime       Duration    `yaml:"taskWaitTime" json:"taskWaitTime"`
	Concurrency        Concurrency `yaml:"concurrency" json:"concurrency"`
	InferenceObjective string      `yaml:"inferenceObjective" json:"inferenceObjective"`
	// InferenceGateway is global (globalInferenceGateway: one for all models) or
	// per-model (modelGateways, or asyncDispatch.models with dispatch async).
	InferenceGateway string    `yaml:"inferenceGateway" json:"inferenceGateway"`
	RequestTimeout   Duration  `yaml:"requestTimeout" json:"requestTimeout"`
	MaxRetries       int       `yaml:"maxRetries" json:"maxRetries"`
	InitialBackoff   Duration  `yaml:"initialBackoff" json:"initialBackoff"`
	MaxBackoff       Duration  `yaml:"maxBackoff" json:"maxBackoff"`
	Quirks           Quirks    `yaml:"quirks" json:"quirks"`
	Restarts         []Restart `yaml:"restarts" json:"restarts"`
}

// Ways to tell the processor where requests go.
const (
	InferenceGatewayGlobal   = "global"
	InferenceGatewayPerModel = "per-model"
)

// Concurrency bounds the processor's requests in flight.
type Concurrency struct {
	Global      int  `yaml:"global" json:"global"`
	PerEndpoint int  `yaml:"perEndpoint" json:"perEndpoint"`
	AIMD        AIMD `yaml:"aimd" json:"aimd"`
}

// AIMD is the processor's additive-increase, multiplicative-decrease controller.
type AIMD struct {
	Enabled          bool    `yaml:"enabled" json:"enabled"`
	Min              int     `yaml:"min" json:"min"`
	BackoffFactor    float64 `yaml:"backoffFactor" json:"backoffFactor"`
	AdditiveIncrease int     `yaml:"additiveIncrease" json:"additiveIncrease"`
}

// Engine is the vLLM deployment; the keys are vLLM's flags in camel case.
type Engine struct {
	GPU                  string  `yaml:"gpu" json:"gpu"` // A100-80, H100 or H200
	Replicas             int     `yaml:"replicas" json:"replicas"`
	TensorParallelSize   int     `yaml:"tensorParallelSize" json:"tensorParallelSize"` // GPUs of a replica
	MaxNumSeqs           int     `yaml:"maxNumSeqs" json:"maxNumSeqs"`
	MaxNumBatchedTokens  int     `yaml:"maxNumBatchedTokens" json:"maxNumBatchedTokens"`
	GPUMemoryUtilization float64 `yaml:"gpuMemoryUtilization" json:"gpuMemoryUtilization"`
	EnablePrefixCaching  bool    `yaml:"enablePrefixCaching" json:"enablePrefixCaching"`
	EnableChunkedPrefill bool    `yaml:"enableChunkedPrefill" json:"enableChunkedPrefill"`
	AsyncScheduling      bool    `yaml:"asyncScheduling" json:"asyncScheduling"`
	SchedulingPolicy     string  `yaml:"schedulingPolicy" json:"schedulingPolicy"` // fcfs or priority
	BlockSize            int     `yaml:"blockSize" json:"blockSize"`
	// NumGPUBlocks overrides the number of KV blocks that follows from GPU and model.
	NumGPUBlocks int `yaml:"numGPUBlocks" json:"numGPUBlocks"`
}
