package spec

// Arm is one configuration of the stack under test.
type Arm struct {
	Name        string `yaml:"name"`
	Extends     string `yaml:"extends,omitempty"` // resolved away
	Description string `yaml:"description"`
	// Dispatch says how batch work reaches the servers: none, backlog (ordinary
	// requests of class batch-equivalent), sync or async (through the batch gateway).
	Dispatch string  `yaml:"dispatch"`
	Backlog  Backlog `yaml:"backlog"`
	Gateway  Gateway `yaml:"gateway"`
	Router   Router  `yaml:"router"`
	Engine   Engine  `yaml:"engine"`
	// PathLatency is the round trip between client and inference gateway in the
	// model; on real targets the network has its own.
	PathLatency Duration `yaml:"pathLatency"`
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
	Concurrency int     `yaml:"concurrency"`
	Rate        float64 `yaml:"rate"`
}

// Gateway is the configuration of the batch gateway's processor; the keys are
// those of its Helm chart.
type Gateway struct {
	NumWorkers         int         `yaml:"numWorkers"`
	PollInterval       Duration    `yaml:"pollInterval"`
	TaskWaitTime       Duration    `yaml:"taskWaitTime"`
	Concurrency        Concurrency `yaml:"concurrency"`
	InferenceObjective string      `yaml:"inferenceObjective"`
	RequestTimeout     Duration    `yaml:"requestTimeout"`
	MaxRetries         int         `yaml:"maxRetries"`
	InitialBackoff     Duration    `yaml:"initialBackoff"`
	MaxBackoff         Duration    `yaml:"maxBackoff"`
}

// Concurrency bounds the processor's requests in flight.
type Concurrency struct {
	Global      int  `yaml:"global"`
	PerEndpoint int  `yaml:"perEndpoint"`
	AIMD        AIMD `yaml:"aimd"`
}

// AIMD is the processor's additive-increase, multiplicative-decrease controller.
type AIMD struct {
	Enabled          bool    `yaml:"enabled"`
	Min              int     `yaml:"min"`
	BackoffFactor    float64 `yaml:"backoffFactor"`
	AdditiveIncrease int     `yaml:"additiveIncrease"`
}

// Router stands between clients and engines.
type Router struct {
	Kind string `yaml:"kind"` // round-robin
}

// Engine is the vLLM deployment; the keys are vLLM's flags in camel case.
type Engine struct {
	GPU                  string  `yaml:"gpu"` // A100-80, H100 or H200
	Replicas             int     `yaml:"replicas"`
	MaxNumSeqs           int     `yaml:"maxNumSeqs"`
	MaxNumBatchedTokens  int     `yaml:"maxNumBatchedTokens"`
	GPUMemoryUtilization float64 `yaml:"gpuMemoryUtilization"`
	EnablePrefixCaching  bool    `yaml:"enablePrefixCaching"`
	EnableChunkedPrefill bool    `yaml:"enableChunkedPrefill"`
	AsyncScheduling      bool    `yaml:"asyncScheduling"`
	SchedulingPolicy     string  `yaml:"schedulingPolicy"` // fcfs or priority
	BlockSize            int     `yaml:"blockSize"`
	// NumGPUBlocks overrides the number of KV blocks that follows from GPU and model.
	NumGPUBlocks int `yaml:"numGPUBlocks"`
}
