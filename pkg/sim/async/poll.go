package async

import "bgbench/pkg/sim/kernel"

// nextPoll waits for the next tick. The ticker holds one tick: when one has passed
// while a poll was held up, the next poll follows at once.
func (p *Processor) nextPoll() {
	interval := int64(p.cfg.PollInterval)
	passed := (int64(p.k.Now()) - int64(p.start)) / interval
	if passed > p.tick {
		p.tick = passed
		p.k.After(0, p.poll)
		return
	}
	p.tick++
	p.k.At(p.start+p.cfg.PollInterval.Std()*kernel.Time(p.tick), p.poll)
}

// poll takes from the queue what the gate's budget allows.
func (p *Processor) poll() {
	p.promote()
	p.polled = p.unix()
	budget := p.gate.budget()
	p.metrics.budget.Set(budget)
	p.left = int(float64(p.cfg.BatchSize) * budget)
	if p.left == 0 && p.queue.len() > 0 {
		p.metrics.gateClosed.Add(1)
	}
	p.take()
}

// promote brings the retries that are due back to the queue, with their original
// deadline.
func (p *Processor) promote() {
	now := p.k.Now().Seconds()
	for m := p.retry.first(); m != nil && m.score <= now; m = p.retry.first() {
		p.retry.popMin()
		p.queue.add(m, float64(m.Deadline))
	}
}

// take pops messages one by one and waits where no place for one is free. The poll
// is over when it has had its share or the queue is empty.
func (p *Processor) take() {
	for ; p.left > 0; p.left-- {
		m := p.queue.popMin()
		if m == nil {
			break
		}
		if m.Deadline < p.polled {
			p.exceeded(m)
			continue
		}
		// The gate is asked again for each message: a poll that was held up does not
		// run on through a gate that has closed.
		if p.gate.budget() <= 0 {
			p.metrics.gateClosed.Add(1)
			p.queue.add(m, float64(m.Deadline))
			continue
		}
		m.ingested = p.k.Now()
		if len(p.buffered) == bufferSize {
			p.inHand = m
			p.left--
			return
		}
		p.buffer(m)
	}
	p.left = 0
	p.nextPoll()
}

// bufferSize is how many messages wait between the poll and the workers: one in the
// hands of the merge policy, one in its channel, which has a place a queue.
const bufferSize = 2

func (p *Processor) buffer(m *message) {
	p.buffered = append(p.buffered, m)
	p.metrics.depth.Add(1)
	p.serve()
}

// serve gives buffered messages to free workers.
func (p *Processor) serve() {
	for p.busy < p.cfg.Concurrency && len(p.buffered) > 0 {
		m := p.buffered[0]
		p.buffered = append(p.buffered[:0], p.buffered[1:]...)
		p.metrics.depth.Add(-1)
		if p.work(m) {
			p.busy++
		}
	}
}

// freed goes on after a worker has become free.
func (p *Processor) freed() {
	p.busy--
	p.serve()
	for p.inHand != nil && len(p.buffered) < bufferSize {
		m := p.inHand
		p.inHand = nil
		p.buffer(m)
		p.take()
	}
}
