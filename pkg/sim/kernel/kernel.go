package kernel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Time is an instant, counted from the start of the run on the monotonic clock.
type Time = time.Duration

// Kernel runs events in the order of their instants. All of its methods but Post
// belong to the goroutine that is inside Run (or to the caller, before Run).
type Kernel struct {
	queue queue
	spare []*event // events that have run or were stopped, for At to use again
	seq   uint64
	now   Time
	done  bool

	wall  bool
	epoch time.Time

	mu     sync.Mutex
	posted []func()
	wake   chan struct{}
}

// VirtualEpoch is the calendar instant at which every virtual run starts. It is
// fixed so that the same seed gives the same bytes.
var VirtualEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// NewVirtual returns a kernel on the virtual clock.
func NewVirtual() *Kernel {
	return &Kernel{epoch: VirtualEpoch}
}

// NewWall returns a kernel on the wall clock; its time 0 is the moment of the call.
func NewWall() *Kernel {
	return &Kernel{wall: true, epoch: time.Now(), wake: make(chan struct{}, 1)}
}

// Virtual reports whether the kernel jumps from event to event.
func (k *Kernel) Virtual() bool { return !k.wall }

// Epoch is the calendar instant of time 0. On the wall clock it carries a
// monotonic reading.
func (k *Kernel) Epoch() time.Time { return k.epoch }

// Instant converts t to the calendar.
func (k *Kernel) Instant(t Time) time.Time { return k.epoch.Add(t) }

// Now returns the instant of the event being run. It does not move while an
// event runs, so everything that one event causes carries one instant; only an
// event that calls Advance moves on.
func (k *Kernel) Now() Time { return k.now }

// Advance lets the running event go on as if it were another event at t, which
// must not lie in the past, and reports whether it may: on the virtual clock,
// when no event is due up to and including t and the run goes on. A chain of
// events that asks here before it calls At saves its way through the queue and
// runs in the same order. What called the event sees Now moved, so only the
// outermost function of an event may use it, as the last thing it does.
func (k *Kernel) Advance(t Time) bool {
	if k.wall || k.done || (len(k.queue) > 0 && k.queue[0].at <= t) {
		return false
	}
	k.now = t
	return true
}

// At arranges for fn to run at t, or as soon as possible when t has passed.
// The returned timer can stop it.
func (k *Kernel) At(t Time, fn func()) Timer {
	if t < k.now {
		t = k.now
	}
	k.seq++
	e := k.event()
	e.at, e.seq, e.fn = t, k.seq, fn
	k.queue.push(e)
	return Timer{k: k, e: e, seq: e.seq}
}

// After is At(Now()+d, fn).
func (k *Kernel) After(d time.Duration, fn func()) Timer { return k.At(k.now+d, fn) }

// Post hands fn to the kernel's goroutine. It is the only method that other
// goroutines may call. On the virtual clock nothing runs outside the kernel, so
// posting there is a mistake and panics.
func (k *Kernel) Post(fn func()) {
	if !k.wall {
		panic("kernel: Post on the virtual clock")
	}
	k.mu.Lock()
	k.posted = append(k.posted, fn)
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Stop makes Run return after the event being run.
func (k *Kernel) Stop() { k.done = true }

// ErrDeadlock is returned by Run on the virtual clock when the queue is empty
// and nobody called Stop: no event can ever happen again.
var ErrDeadlock = errors.New("kernel: no event left and the run has not been stopped")

// Run runs events until Stop is called or ctx ends, whose cause it then returns.
func (k *Kernel) Run(ctx context.Context) error {
	if k.wall {
		return k.runWall(ctx)
	}
	return k.runVirtual(ctx)
}

// contextPeriod is how many virtual events run between two looks at the
// context: often enough that Ctrl-C acts at once, seldom enough to cost nothing.
const contextPeriod = 1 << 12

func (k *Kernel) runVirtual(ctx context.Context) error {
	for n := 0; !k.done; n++ {
		if n%contextPeriod == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(k.queue) == 0 {
			return ErrDeadlock
		}
		k.runNext()
	}
	return nil
}

func (k *Kernel) runNext() {
	e := k.queue.pop()
	// A wall-clock event that runs late keeps its instant, but time never runs back.
	k.now = max(k.now, e.at)
	fn := e.fn
	k.recycle(e)
	fn()
}

func (k *Kernel) event() *event {
	last := len(k.spare) - 1
	if last < 0 {
		return new(event)
	}
	e := k.spare[last]
	k.spare = k.spare[:last]
	return e
}

// recycle keeps e for another At. A Timer that still points to it finds another
// sequence number, or no function.
func (k *Kernel) recycle(e *event) {
	e.fn = nil
	k.spare = append(k.spare, e)
}

func (k *Kernel) runWall(ctx context.Context) error {
	sleep := time.NewTimer(time.Hour)
	defer sleep.Stop()
	for !k.done {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		k.runPosted()
		// No more events than wait now: one that schedules itself for the same
		// instant must not keep out posted work and the context.
		for n := len(k.queue); n > 0 && !k.done && len(k.queue) > 0 && k.queue[0].at <= time.Since(k.epoch); n-- {
			k.runNext()
		}
		if k.done {
			return nil
		}
		wait := time.Hour
		if len(k.queue) > 0 {
			wait = k.queue[0].at - time.Since(k.epoch)
		}
		if wait <= 0 {
			continue
		}
		sleep.Reset(wait)
		select {
		case <-sleep.C:
		case <-k.wake:
		case <-ctx.Done():
		}
	}
	return nil
}

func (k *Kernel) runPosted() {
	k.mu.Lock()
	posted := k.posted
	k.posted = nil
	k.mu.Unlock()
	for _, fn := range posted {
		if k.done {
			return
		}
		k.now = max(k.now, time.Since(k.epoch))
		fn()
	}
}
