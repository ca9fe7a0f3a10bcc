package engine

// GPU is an accelerator.
type GPU struct {
	Name      string
	PeakFLOPS float64 // dense bfloat16 tensor cores, without sparsity
	Bandwidth float64 // bytes a second
	// MemoryGiB is what CUDA reports as total memory, below the nominal size.
	MemoryGiB float64
	// MaxNumSeqs and MaxNumBatchedTokens are vLLM's defaults for its API server
	// (EngineArgs, by memory size and device name).
	MaxNumSeqs, MaxNumBatchedTokens int
}

// GPUs is the catalogue. Peak and bandwidth come from NVIDIA's data sheets: A100
// 80GB SXM (312 TFLOPS, 2,039 GB/s), H100 SXM (1,979 TFLOPS with sparsity, 3.35
// TB/s), H200 SXM (1,979 TFLOPS with sparsity, 4.8 TB/s).
func GPUs() []GPU {
	return []GPU{
		{Name: "A100-80", PeakFLOPS: 312e12, Bandwidth: 2.04e12, MemoryGiB: 79.15, MaxNumSeqs: 256, MaxNumBatchedTokens: 2048},
		{Name: "H100", PeakFLOPS: 989.5e12, Bandwidth: 3.35e12, MemoryGiB: 79.1, MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192},
		{Name: "H200", PeakFLOPS: 989.5e12, Bandwidth: 4.80e12, MemoryGiB: 139.8, MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192},
	}
}

const gib = 1 << 30

// reservedBytes is what vLLM's memory profiling takes beside weights and KV
// cache: activations of the largest batch, CUDA graphs and the allocator. With it
// the model gives 267,421 tokens of KV cache for a 32B model on an H200 at
// gpu-memory-utilization 0.92, where 267,472 were measured.
const reservedBytes = 2.3 * gib

// kvTokens is how many tokens of KV cache fit beside m's weights; negative when
// the weights themselves do not.
func kvTokens(m Model, g GPU, utilization float64) float64 {
	free := g.MemoryGiB*gib*utilization - bytesPerValue*m.Params() - reservedBytes
	return free / m.KVBytes()
}
