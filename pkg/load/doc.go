// Package load replays the inputs of a cell against a stack and records what
// became of every request.
//
// A Replay is the one open-loop engine of both clocks. It is written as events on
// a kernel.Kernel: on the wall clock it drives a stack over HTTP, on the virtual
// clock the stack model that shares its kernel. A Transport starts a request and
// hands back one Attempt; a JobService uploads, polls and reads batch jobs. Due
// times are the schedule's alone: a slow answer never delays the next request, and
// how late a request left is recorded with it.
//
// The package judges no cell, only the generator itself (record.LoadHealth): cmd/bg-gen
// writes the inputs, pkg/analysis reads the rows. Calibration, Sweep and SelfTest are runs
// after runs, whose inputs they make themselves; a Shard is a part of a run. cmd/bg-load
// calls it:
//
//	cell, err := load.CreateCell(dir, identity, false)
//	err = load.Run(ctx, load.Options{Stack: stack, Inputs: set, Output: cell})
package load
