// Package token counts and identifies tokens without a vocabulary.
//
// The default counter splits text the way the pre-tokenizers of common BPE
// vocabularies do: a run of letters, a run of digits and each other
// non-space character is one token, with the space before it. Text that pkg/prompt
// generates consists of words that are one token in those vocabularies too, so
// counts agree closely. The stack model identifies prompts by the same tokens,
// which is what makes its prefix cache behave.
//
// pkg/prompt (which writes text of an exact length) and pkg/sim (which reads it)
// call it.
package token
