package engine

// GPU is an accelerator.
type GPU struct {
	Name      string
	PeakFLOPS float64 // dense bfloat16 tensor cores, without sparsity
	Bandwidth float64 // of the memory, bytes a second
	// NVLink is what a GPU can send to the others of its server, bytes a second: half
	// of the figure in the data sheet, which adds both directions.
	NVLink float64
	// MemoryGiB is what CUDA reports as total memory, below the nominal size.
	MemoryGiB float64
	// MaxNumSeqs and MaxNumBatchedTokens are vLLM's defaults for its API server
	// (EngineArgs, by memory size and device name).
	MaxNumSeqs, MaxNumBatchedTokens int
}

// GPUs is the catalogue. Peak and bandwidths come from NVIDIA's data sheets: A100
// 80GB SXM (312 TFLOPS, 2,039 GB/s, NVLink 600 GB/s), H100 SXM (1,979 TFLOPS with
// sparsity, 3.35 TB/s, NVLink 900 GB/s), H200 SXM (1,979 TFLOPS with sparsity, 4.8
// TB/s, NVLink 900 GB/s).
func GPUs() []GPU {
	return []GPU{
		{Name: "A100-80", PeakFLOPS: 312e12, Bandwidth: 2.04e12, NVLink: 300e9, MemoryGiB: 79.15, MaxNumSeqs: 256, MaxNumBatchedTokens: 2048},
		{Name: "H100", PeakFLOPS: 989.5e12, Bandwidth: 3.35e12, NVLink: 450e9, MemoryGiB: 79.1, MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192},
		{Name: "H200", PeakFLOPS: 989.5e12, Bandwidth: 4.80e12, NVLink: 450e9, MemoryGiB: 139.8, MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192},
	}
}

const gib = 1 << 30

// reservedBytes is what vLLM's memory profiling takes beside weights and KV
// cache: activations of the largest batch, CUDA graphs and the allocator. With it
// the model gives 267,421 tokens of KV cache for a 32B model on an H200 at
// gpu-memory-utilization 0.92, where 267,472 were measured.
const reservedBytes = 2.3 * gib

// kvTokens is how many tokens of KV cache fit beside the weights on a GPU that
// holds shard; negative when the weights themselves do not. Under tensor parallelism
// every GPU keeps its heads of the same tokens, so one GPU's room is that of all.
func kvTokens(shard Model, g GPU, utilization float64) float64 {
	free := g.MemoryGiB*gib*utilization - bytesPerValue*shard.Params() - reservedBytes
	return free / shard.KVBytes()
}
