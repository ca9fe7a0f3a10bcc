package openai

import (
	"sync"
	"sync/atomic"
	"time"
)

// Timeouts bound the parts of a request, each by itself; 0 is no bound. The whole of
// it is bounded by the context.
type Timeouts struct {
	Connect    time.Duration // until there is a connection, TLS included
	Headers    time.Duration // from the connection to the headers of the answer
	FirstToken time.Duration // from the connection to the first output
	Idle       time.Duration // between two chunks with output, and from the last one to the end
}

// TimeoutError is the error text of a request that ran into a bound. It begins with
// the word of the bound, so that a reader of rows can tell them apart.
func TimeoutError(word string, limit time.Duration) string {
	return word + " timeout after " + limit.String()
}

// Words of TimeoutError.
const (
	ConnectTimeout    = "connect"
	HeadersTimeout    = "headers"
	FirstTokenTimeout = "first token"
	IdleTimeout       = "idle"
	TotalTimeout      = "total"
)

// watchdog cancels a request that ran into one of its bounds and remembers which.
// A chunk costs it one store: the timer looks at the instant of the last one only
// when it fires.
type watchdog struct {
	limits Timeouts
	clock  func() time.Time
	cancel func()
	start  time.Time
	last   atomic.Int64 // nanoseconds from start to the last chunk with output, 0 before

	mu        sync.Mutex
	timer     *time.Timer
	connected time.Time
	headers   bool
	over      bool
	bitten    string // the error text
}

// newWatchdog returns nil where nothing is bounded; all methods take a nil receiver.
func newWatchdog(limits Timeouts, clock func() time.Time, start time.Time, cancel func()) *watchdog {
	if limits == (Timeouts{}) {
		return nil
	}
	w := &watchdog{limits: limits, clock: clock, cancel: cancel, start: start}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arm()
	return w
}

// bound returns the bound that comes next, the time that it leaves from now, and
// false where none is in force.
func (w *watchdog) bound() (word string, limit, left time.Duration, ok bool) {
	consider := func(name string, bound time.Duration, since time.Time) {
		if bound <= 0 {
			return
		}
		if rest := bound - w.clock().Sub(since); !ok || rest < left {
			word, limit, left, ok = name, bound, rest, true
		}
	}
	last := time.Duration(w.last.Load())
	switch {
	case last > 0:
		consider(IdleTimeout, w.limits.Idle, w.start.Add(last))
	case w.connected.IsZero():
		consider(ConnectTimeout, w.limits.Connect, w.start)
	default:
		consider(FirstTokenTimeout, w.limits.FirstToken, w.connected)
		if !w.headers {
			consider(HeadersTimeout, w.limits.Headers, w.connected)
		}
	}
	return word, limit, left, ok
}

// arm sets the timer for the next bound. The caller holds the lock.
func (w *watchdog) arm() {
	if w.timer != nil {
		w.timer.Stop()
	}
	if _, _, left, ok := w.bound(); ok && !w.over {
		w.timer = time.AfterFunc(left, w.look)
	}
}

func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	word, limit, left, ok := w.bound()
	if w.over || !ok {
		return
	}
	if left > 0 {
		w.arm()
		return
	}
	w.over, w.bitten = true, TimeoutError(word, limit)
	w.cancel()
}

// gotConn, gotHeaders and chunk say how far the request is.
func (w *watchdog) gotConn(at time.Time) {
	w.step(func() {
		if w.connected.IsZero() {
			w.connected = at
		}
	})
}

func (w *watchdog) gotHeaders() { w.step(func() { w.headers = true }) }

func (w *watchdog) chunk(at time.Time) {
	first := w.last.Swap(max(1, int64(at.Sub(w.start)))) == 0
	if first {
		w.step(func() {})
	}
}

func (w *watchdog) step(change func()) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	w.arm()
}

// end calls the watchdog off and returns what it did: the empty text where it did
// nothing.
func (w *watchdog) end() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.bitten
}
