// Package corpus reads texts for prompts out of files that others made: ShareGPT's
// JSON, MMLU's CSV, Parquet of Hugging Face data sets, and any JSON lines.
//
// It reads a file once, from front to back, row by row, and keeps what a trial needs:
// a sample that depends on the seed alone and not on how much of it is asked for. It
// counts no tokens and knows no lengths: pkg/prompt says which rows will do.
//
//	sample := corpus.NewSample(1000, random.Stream(seed, "corpus"))
//	digest, err := corpus.Read(source, sample.Add)
//	for _, row := range sample.Rows() { … }
package corpus
