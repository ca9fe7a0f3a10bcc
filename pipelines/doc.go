// Package pipelines holds no code: experiment.mk and cell.sh join the tools into a run
// of an experiment. Scripts in testdata run small ones. Other tests hold whole
// experiments against published runs; they need what `make published` measures first, so
// a build tag keeps them out of `go test ./...`.
package pipelines
