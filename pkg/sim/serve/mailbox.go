package serve

import (
	"sync"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// mailbox is a sim.Reply that the kernel fills without ever waiting and a handler
// empties. Tokens that pile up while the handler is busy are handed over as one
// number, as vLLM's front end merges outputs that its client is too slow for.
type mailbox struct {
	mu       sync.Mutex
	endpoint string
	tokens   int
	end      *sim.End
	ready    chan struct{} // holds a signal while there is something to take
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

// Headers implements sim.Reply. The answer's headers go out with its first token.
func (m *mailbox) Headers(_ kernel.Time, endpoint string) {
	m.mu.Lock()
	m.endpoint = endpoint
	m.mu.Unlock()
}

// Tokens implements sim.Reply.
func (m *mailbox) Tokens(_ kernel.Time, n int) {
	m.mu.Lock()
	m.tokens += n
	m.mu.Unlock()
	m.signal()
}

// End implements sim.Reply.
func (m *mailbox) End(_ kernel.Time, end sim.End) {
	m.mu.Lock()
	m.end = &end
	m.mu.Unlock()
	m.signal()
}

func (m *mailbox) signal() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take empties the mailbox. endpoint is empty until the call was accepted, end is
// nil while it goes on.
func (m *mailbox) take() (endpoint string, tokens int, end *sim.End) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tokens, m.tokens = m.tokens, 0
	return m.endpoint, tokens, m.end
}
