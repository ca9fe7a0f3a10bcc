//go:build !unix

package openai

import "net"

// sharedReader needs sockets that are read when they are ready.
type sharedReader struct{}

type readBuffers struct{}

func newSharedReader(net.Conn, *readBuffers, func()) *sharedReader { return nil }

// Read is not called.
func (*sharedReader) Read([]byte) (int, error) { return 0, net.ErrClosed }
