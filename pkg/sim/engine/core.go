package engine

import (
	"cmp"
	"slices"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// core is vLLM's EngineCore loop: it takes in requests and aborts between steps,
// schedules, lets the GPU run, and hands out the tokens.
//
// Steps run one after another: the next starts when the last ends, and the tokens
// of a step are there when it ends. Under async scheduling (a queue of two
// batches) the batch of the next step is already fixed when a step starts, so a
// request that arrives meanwhile waits for one step more; the overlap of the
// scheduler's own time with the GPU is part of the step's overhead in Cost.
//
// All of it is a chain of instants: the end of a step, then the delivery of its
// tokens, then the next end. On the virtual clock the chain goes on inside one
// event as long as nothing else is due (kernel.Advance), so a stretch of decodes
// between two arrivals costs one trip through the kernel's queue. At every instant
// the state is what it would be with an event a step.
type core struct {
	k         *kernel.Kernel
	cfg       *Config
	scheduler *Scheduler
	metrics   *metrics

	inbox  []*call
	aborts []*call

	depth   int // how many batches may be scheduled and not updated
	batches []*Batch
	running bool        // the first of batches is on the GPU
	stepEnd kernel.Time // when it will have run

	// The tokens of the last step. Those of decoders are in history, and with settle in
	// their calls; pending are the calls of the others.
	tokensAt    kernel.Time // when the step ended
	deliverAt   kernel.Time
	undelivered bool
	pending     []*call
	delivering  *call // of pending
	history     history

	event    func() // run, as a value made once
	timer    kernel.Timer
	inEvent  bool
	stepwise bool // a test's: never Advance
}

// arrive takes in a request that has passed the API server.
func (c *core) arrive(q *call) {
	q.stage = stageInbox
	c.inbox = append(c.inbox, q)
	c.wake()
}

// abort takes in the abort of a request that the scheduler knows.
func (c *core) abort(q *call) {
	c.aborts = append(c.aborts, q)
	c.wake()
}

// wake starts a step when nothing is being computed, without waiting for a delivery
// that is due. It does so by an event, so that what comes at one instant is
// scheduled together.
func (c *core) wake() {
	if c.running || c.inEvent {
		return // the chain goes on by itself
	}
	c.timer.Stop()
	c.timer = c.k.At(c.k.Now(), c.event)
}

func (c *core) stuck() bool {
	return !c.running && len(c.inbox) == 0 && c.scheduler.Unfinished() > len(c.aborts)
}

// run does what is due and arranges for what comes next. It is the last thing
// that its event does.
func (c *core) run() {
	c.inEvent = true
	defer func() { c.inEvent = false }()
	for {
		next, ok := c.advance(c.k.Now())
		if !ok {
			return
		}
		if c.stepwise || !c.k.Advance(next) {
			c.timer = c.k.At(next, c.event)
			return
		}
	}
}

// advance does what is due at now and returns the next instant at which something
// will be; none when the engine is idle.
func (c *core) advance(now kernel.Time) (next kernel.Time, ok bool) {
	ends := c.running && now >= c.stepEnd
	if c.undelivered && (ends || now >= c.deliverAt) {
		c.deliver(now)
	}
	if ends {
		c.endStep(now)
	}
	if !c.running {
		c.startStep(now)
	}
	switch {
	case c.undelivered && c.running:
		return min(c.deliverAt, c.stepEnd), true
	case c.undelivered:
		return c.deliverAt, true
	default:
		return c.stepEnd, c.running
	}
}

// endStep takes the result of the batch that has run. Aborts that came meanwhile
// go first: their tokens are dropped.
func (c *core) endStep(now kernel.Time) {
	c.running = false
	c.applyAborts()
	c.deliverAt = now + c.cfg.TokenLatency
	c.update(now)
}

// update gives the oldest batch back to the scheduler.
func (c *core) update(now kernel.Time) {
	b := c.batches[0]
	c.batches = append(c.batches[:0], c.batches[1:]...)
	outputs := c.scheduler.Update(b)
	for _, r := range outputs {
		c.pending = append(c.pending, r.call)
	}
	decoded := c.scheduler.Decoded()
	c.metrics.step(now, c.deliverAt, c.scheduler, outputs, decoded, now-c.tokensAt)
	if len(outputs)+decoded > 0 {
		c.tokensAt, c.undelivered = now, true
	}
}

// settle brings a call up to date that is among the scheduler's decoders: it got a token
// in each of the last steps.
func (c *core) settle(q *call) {
	c.scheduler.settle(&q.Request)
	c.catchUpOn(q)
}

// catchUpOn is settle for a call that the scheduler has settled.
func (c *core) catchUpOn(q *call) {
	delivered, steps := q.OutputTokens(), c.history.steps()
	switch {
	case c.undelivered:
		delivered--
	case c.delivering != nil && q.order > c.delivering.order: // its turn comes
		delivered, steps = delivered-1, steps-1
	}
	if n := delivered - q.outputs; n > 0 {
		c.history.add(q, span{steps - n, steps})
		q.outputs = delivered
	}
	q.at = c.tokensAt
}

// woke takes in that q is no decoder any more. Its token of the last step joins the others
// that are not delivered, unless it is there.
func (c *core) woke(q *call) {
	if q.ended {
		return
	}
	c.catchUpOn(q)
	if c.undelivered && c.scheduler.updated > q.decoding.since {
		at, _ := slices.BinarySearchFunc(c.pending, q.order, func(p *call, order int) int { return cmp.Compare(p.order, order) })
		c.pending = slices.Insert(c.pending, at, q)
	}
}

// catchUp tells all patient replies of the tokens that they have not heard of.
func (c *core) catchUp() {
	for _, r := range c.scheduler.running {
		if r.decoding.on {
			c.settle(r.call)
		}
	}
	c.history.catchUp()
}

func (c *core) applyAborts() {
	for _, q := range c.aborts {
		c.scheduler.Abort(&q.Request)
	}
	c.aborts = c.aborts[:0]
}

// startStep schedules until a batch is on the GPU, or nothing can run.
func (c *core) startStep(now kernel.Time) {
	if c.takeIn(now) {
		// Idle until now: vLLM's loop has made steps without work meanwhile.
		defer func() {
			if !c.running {
				c.metrics.gauges(c.scheduler)
			}
		}()
	}
	for {
		if !c.fill(now) {
			return
		}
		if head := c.batches[0]; !head.Empty() {
			c.running = true
			c.stepEnd = now + c.cfg.Cost.StepTime(head.Load)
			return
		}
		// A batch without work takes its place in the queue, but no time.
		c.update(now)
	}
}

// takeIn gives the scheduler what came since the last step, and reports whether
// something did.
func (c *core) takeIn(now kernel.Time) bool {
	some := len(c.inbox)+len(c.aborts) > 0
	c.applyAborts()
	for i, q := range c.inbox {
		c.inbox[i] = nil
		if q.ended {
			continue
		}
		q.stage = stageCore
		q.queued = now
		c.scheduler.Add(&q.Request)
	}
	c.inbox = c.inbox[:0]
	return some
}

// fill schedules batches up to the depth of the queue. It reports false when there
// is no work: everything has ended, or what is left can't be scheduled. The
// latter is certain when an empty batch preempted nobody while no other batch is
// on its way, because then nothing will ever change.
func (c *core) fill(now kernel.Time) bool {
	for len(c.batches) < c.depth && c.scheduler.Unfinished() > 0 {
		b := c.scheduler.Schedule()
		c.batches = append(c.batches, b)
		for _, r := range c.scheduler.woken {
			c.woke(r.call)
		}
		for _, r := range b.Admitted {
			if q := r.call; !q.wasAdmitted {
				q.admitted, q.wasAdmitted = now, true
			}
		}
		if b.Empty() && len(b.Preempted) == 0 && c.allEmpty() {
			for len(c.batches) > 0 {
				c.update(now)
			}
			return false
		}
	}
	return len(c.batches) > 0
}

func (c *core) allEmpty() bool {
	for _, b := range c.batches {
		if !b.Empty() {
			return false
		}
	}
	return true
}

// deliver hands out the tokens of the step that ended last.
func (c *core) deliver(now kernel.Time) {
	if c.history.full() {
		c.catchUp()
	}
	c.history.step(now)
	c.undelivered = false
	for i, q := range c.pending {
		c.pending[i] = nil
		if q.ended {
			continue // aborted since
		}
		if q.decoding.on && q.started {
			continue // settle finds the token
		}
		c.delivering = q
		q.outputs++
		switch {
		case q.started && q.patient != nil:
			c.history.later(q)
		case q.started:
			q.reply.Tokens(now, 1)
		default:
			q.started = true
			q.reply.Headers(now, c.cfg.Name)
			q.reply.Tokens(now, 1)
		}
		if q.Finished() && q.outputs == q.OutputTokens() && !q.ended {
			c.history.tell(q)
			q.ended = true
			q.reply.End(now, sim.End{Status: 200, FinishReason: "length", Usage: q.usage()})
		}
	}
	c.pending, c.delivering = c.pending[:0], nil
}
