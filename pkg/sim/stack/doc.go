// Package stack wires the parts of the model into the stack that an arm
// describes: engines, the router before them, the batch gateway beside it.
//
// It has no behaviour of its own but the latency of the path from client to
// inference gateway. pkg/deploy puts a stack behind sockets, pkg/load runs one in
// process; both reach it through the same methods.
package stack
