package engine

import "fmt"

// Model is the shape of a dense decoder with grouped-query attention and a gated
// MLP, served in bfloat16.
type Model struct {
	// Names are those under which a profile may ask for it.
	Names []string

	Layers, Hidden, Heads, KVHeads, HeadDim, FFN, Vocab int

	TiedEmbeddings bool // the output head shares the input embedding
	QKVBias        bool
	QKNorm         bool

	MaxModelLen int // max_position_embeddings
}

// Models is the catalogue. The numbers are those of config.json on Hugging Face
// (hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
// head_dim, intermediate_size, vocab_size, tie_word_embeddings,
// max_position_embeddings) of the repository that Names gives first; the biases
// of Qwen2 and the norms of Qwen3 are those of the transformers library.
func Models() []Model {
	return []Model{
		{
			Names:  []string{"Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-1.5B"},
			Layers: 28, Hidden: 1536, Heads: 12, KVHeads: 2, HeadDim: 128, FFN: 8960, Vocab: 151936,
			TiedEmbeddings: true, QKVBias: true, MaxModelLen: 32768,
		},
		{
			Names:  []string{"Qwen/Qwen3-4B"},
			Layers: 36, Hidden: 2560, Heads: 32, KVHeads: 8, HeadDim: 128, FFN: 9728, Vocab: 151936,
			TiedEmbeddings: true, QKNorm: true, MaxModelLen: 40960,
		},
		{
			Names:  []string{"Qwen/Qwen3-8B"},
			Layers: 36, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, FFN: 12288, Vocab: 151936,
			QKNorm: true, MaxModelLen: 40960,
		},
		{
			Names:  []string{"Qwen/Qwen2.5-14B-Instruct", "Qwen/Qwen2.5-14B"},
			Layers: 48, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, FFN: 13824, Vocab: 152064,
			QKVBias: true, MaxModelLen: 32768,
		},
		{
			Names:  []string{"Qwen/Qwen2.5-32B-Instruct", "Qwen/Qwen2.5-32B"},
			Layers: 64, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, FFN: 27648, Vocab: 152064,
			QKVBias: true, MaxModelLen: 32768,
		},
		{
			Names:  []string{"Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen2.5-72B"},
			Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, FFN: 29568, Vocab: 152064,
			QKVBias: true, MaxModelLen: 32768,
		},
	}
}

// Shard is what one of tp GPUs holds of m under tensor parallelism: vLLM splits
// heads, MLP and vocabulary, keeps the norms on every GPU, and where there are
// fewer KV heads than GPUs gives each GPU a whole one, so that some are there
// several times (QKVParallelLinear).
func (m Model) Shard(tp int) (Model, error) {
	switch {
	case m.Heads%tp != 0:
		return Model{}, fmt.Errorf("found %d, expected a divisor of the %d attention heads of %s", tp, m.Heads, m.Names[0])
	case m.KVHeads%tp != 0 && tp%m.KVHeads != 0:
		return Model{}, fmt.Errorf("found %d, expected a divisor or a multiple of the %d KV heads of %s", tp, m.KVHeads, m.Names[0])
	case m.FFN%tp != 0 || m.Vocab%tp != 0:
		return Model{}, fmt.Errorf("found %d, expected a divisor of the MLP's %d and the vocabulary's %d rows of %s", tp, m.FFN, m.Vocab, m.Names[0])
	}
	m.Heads /= tp
	m.KVHeads = max(1, m.KVHeads/tp)
	m.FFN /= tp
	m.Vocab /= tp
	return m, nil
}

// bytesPerValue of bfloat16, for weights and KV cache alike.
const bytesPerValue = 2

// layerParams is the number of parameters that all layers and the last norm have,
// embedding and output head left out.
func (m Model) layerParams() float64 {
	q, kv := m.Heads*m.HeadDim, m.KVHeads*m.HeadDim
	layer := m.Hidden*q + 2*m.Hidden*kv + q*m.Hidden + 3*m.Hidden*m.FFN + 2*m.Hidden
	if m.QKVBias {
		layer += q + 2*kv
	}
	if m.QKNorm {
		layer += 2 * m.HeadDim
	}
	return float64(m.Layers)*float64(layer) + float64(m.Hidden)
}

func (m Model) headParams() float64 { return float64(m.Vocab) * float64(m.Hidden) }

// Params is the number of parameters.
func (m Model) Params() float64 {
	if m.TiedEmbeddings {
		return m.layerParams() + m.headParams()
	}
	return m.layerParams() + 2*m.headParams()
}

// WeightBytes is what a step reads of the weights: everything but the input
// embedding, of which it reads one row a token.
func (m Model) WeightBytes() float64 {
	return bytesPerValue * (m.layerParams() + m.headParams())
}

// KVBytes is the size of one token in the KV cache.
func (m Model) KVBytes() float64 {
	return bytesPerValue * 2 * float64(m.Layers) * float64(m.KVHeads) * float64(m.HeadDim)
}
