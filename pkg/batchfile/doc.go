// Package batchfile knows what the batch gateway takes for an input file: the limits
// on its size, and what each line must say.
//
// pkg/sim/gateway refuses lines by it, in the processor's words; pkg/inputs writes
// files that it takes; pkg/spec splits jobs that are too large for one file; and
// bg-gen validate names every bad line of any file.
//
//	report, err := batchfile.Check(file, func(p batchfile.Problem) error {
//		_, err := fmt.Println(p)
//		return err
//	})
package batchfile
