//go:build !unix

package http1

import "net"

// Available says that the Transport works on this system: it has to ask a socket whether it
// is ready.
const Available = false

// direct needs sockets that are read when they are ready.
type direct struct{ noWait bool }

// Buffers is of no use here.
type Buffers struct{}

type buffer [32 << 10]byte

func (*Buffers) take() *buffer { return new(buffer) }
func (*Buffers) give(*buffer)  {}

func newDirect(net.Conn, *Buffers, *Socket) *direct { return nil }

// None of these is called.
func (*direct) Read([]byte) (int, error)  { return 0, net.ErrClosed }
func (*direct) next() ([]byte, error)     { return nil, net.ErrClosed }
func (*direct) release()                  {}
func (*direct) write([]byte) (int, error) { return 0, net.ErrClosed }
