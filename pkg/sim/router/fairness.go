package router

const (
	globalStrictType = "global-strict-fairness-policy"
	roundRobinType   = "round-robin-fairness-policy"
)

// pick is the band's next request, nil when it holds none. The policy says whose
// turn it is: the best head of any flow, or flow after flow in the order of ids.
func (b *band) pick() *request {
	if b.roundRobin {
		return b.pickInTurn()
	}
	var best *request
	for _, f := range b.flows {
		if head := f.queue.head(); head != nil && (best == nil || b.ordering(head, best)) {
			best = head
		}
	}
	return best
}

// pickInTurn goes on after the flow that was served last. A band found empty
// forgets who that was, so the next backlog begins with the first id.
func (b *band) pickInTurn() *request {
	start := 0
	if b.served != "" {
		start = b.flowIndex(b.served) + 1
	}
	for i := range b.flows {
		f := b.flows[(start+i)%len(b.flows)]
		if head := f.queue.head(); head != nil {
			b.served = f.id
			return head
		}
	}
	b.served = ""
	return nil
}
