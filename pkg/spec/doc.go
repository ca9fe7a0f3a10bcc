// Package spec holds what a user declares: profiles (workload and measurement),
// arms (configurations of the stack under test) and experiments (arms x trials on
// a profile), with their defaults, validation and embedded catalogue.
//
// Decoding is strict: an unknown key is an error with its line. A resolved value
// has every default written out, so that a frozen experiment.yaml says everything.
// The package runs nothing; every tool calls it.
//
//	e, err := spec.LoadExperiment("batch-gateway-ci", []string{"profile.seed=7"})
//	for _, cell := range e.Cells() { … }
package spec
