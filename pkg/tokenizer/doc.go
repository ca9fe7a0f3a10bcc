// Package tokenizer counts tokens as a model does, by the tokenizer.json of Hugging
// Face's tokenizers and the chat template beside it.
//
// It knows the parts of which the tokenizers of served models are made: BPE (of bytes
// or characters), WordPiece and Unigram, with their usual normalizers and
// pre-tokenizers; a part that it does not know is an error, not a guess. It encodes and
// does not decode, and it adds no special tokens, as servers do for chats. pkg/inputs/draw
// opens one; pkg/token counts where there is none.
//
//	t, err := tokenizer.Open("Qwen3-8B/tokenizer.json")
//	n := t.Count("soft rain")
package tokenizer
