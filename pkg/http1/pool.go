package http1

import (
	"sync"
	"time"
)

// destination is where a connection leads.
type destination struct{ scheme, address string }

// pool keeps idle connections, the one that was used last on top.
type pool struct {
	mu     sync.Mutex
	idle   map[destination][]*conn
	closed bool // until the next request
}

// take returns a connection on which the server waits for a request, nil if there is none.
// Those that idled for longer than limit are closed.
func (p *pool) take(to destination, now time.Time, limit time.Duration) *conn {
	for {
		c, old := p.pop(to, now, limit)
		for _, c := range old {
			c.close()
		}
		// A server closes connections without a word. A request that goes out on such a one
		// is lost, and nobody knows whether the server has read it: so the socket is asked
		// first.
		if c == nil || c.waits() {
			return c
		}
		c.close()
	}
}

func (p *pool) pop(to destination, now time.Time, limit time.Duration) (c *conn, old []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
	idle := p.idle[to]
	if len(idle) == 0 {
		return nil, nil
	}
	first := 0
	for first < len(idle) && limit > 0 && now.Sub(idle[first].idleSince) > limit {
		first++
	}
	old, idle = idle[:first:first], idle[first:]
	if len(idle) > 0 {
		c, idle = idle[len(idle)-1], idle[:len(idle)-1]
	}
	if len(idle) == 0 {
		delete(p.idle, to)
	} else {
		p.idle[to] = idle
	}
	return c, old
}

// put keeps a connection for the next request.
func (p *pool) put(c *conn, now time.Time) {
	c.idleSince = now
	if !p.push(c) {
		c.close()
	}
}

func (p *pool) push(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.idle == nil {
		p.idle = map[destination][]*conn{}
	}
	p.idle[c.to] = append(p.idle[c.to], c)
	return true
}

// close closes the connections that idle now, and those that are put back before the next
// request.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, conns := range idle {
		for _, c := range conns {
			c.close()
		}
	}
}
