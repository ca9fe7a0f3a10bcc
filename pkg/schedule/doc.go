// Package schedule turns phases and their arrival processes, traces among them, into due
// times.
//
// A schedule is drawn before the run from its own seeded stream and written to a
// file, so that every arm replays the same one. The package knows no prompts and
// sends nothing. cmd/bg-gen draws schedules; pkg/load and pkg/analysis ask where
// the phases lie.
package schedule
