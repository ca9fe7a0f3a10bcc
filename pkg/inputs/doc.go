// Package inputs is the folder that all arms of a trial replay: prompts.jsonl,
// schedule.jsonl, one job-NAME.jsonl a batch job, and the manifest inputs.json that
// says what they are and seals them by hash.
//
// It defines the lines of those files, writes them and opens them again, checking
// that they belong together; an error names file and line. It draws no random
// number: pkg/inputs/draw has pkg/prompt and pkg/schedule decide what the lines say.
// cmd/bg-gen writes a folder, pkg/load replays it, pkg/analysis takes the phases
// from its manifest.
//
//	set, err := inputs.Open("inputs/t1")
//	messages := set.Messages(set.Schedule[0].Prompt)
package inputs
