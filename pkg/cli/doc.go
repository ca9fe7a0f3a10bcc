// Package cli is what the six tools share at their edge: the environment they
// run in, exit codes, logging, progress and files that appear only when whole.
//
// It holds no subject of bgbench. The packages under cmd call it, nothing else does.
package cli
