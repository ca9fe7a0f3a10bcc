// Package router models what stands between clients and model servers.
//
// Today that is a plain round-robin gateway. A router is a sim.Backend over
// sim.Backends, so it fits between any client and any engines. pkg/sim/stack
// builds it.
package router
