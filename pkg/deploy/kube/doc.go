// Package kube is target kube of bg-deploy: a stack under test in a namespace of its
// own on a cluster, one namespace a cell.
//
// A Cell says what there is to be: Steps lists the objects in the order in which they
// are applied, those that charts make among them. The Helm library makes the objects of
// a chart; this package applies all objects the same way, so that each carries both
// labels and one teardown finds them. Nothing here is a process: what stands in for a
// component in tests is pkg/deploy/standin.
//
//	cell, err := kube.NewCell(plan, kube.Options{Mode: kube.ModeSim})
//	steps, err := cell.Steps()
//
// cmd/bg-deploy calls it; no other tool links it.
package kube
