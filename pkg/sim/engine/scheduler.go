package engine

import "slices"

// SchedulerConfig holds vLLM's flags that the scheduler reads.
type SchedulerConfig struct {
	MaxNumSeqs          int
	MaxNumBatchedTokens int
	MaxModelLen         int
	BlockSize           int
	// NumGPUBlocks counts the null block, so one fewer can be used.
	NumGPUBlocks        int
	EnablePrefixCaching bool
	// EnableChunkedPrefill lets a prompt that is larger than the rest of the token
	// budget start with a part of it.
	EnableChunkedPrefill      bool
	LongPrefillTokenThreshold int // 0: none
	Priority                  bool
	AsyncScheduling           bool
	// ReserveFullISL admits a request only when its whole prompt fits in the free
	// blocks, not just its first chunk (scheduler_reserve_full_isl).
	ReserveFullISL bool
	// Watermark is the fraction of blocks that an admission leaves free.
	Watermark float64
}

// Scheduler is vLLM V1's scheduler, KV cache manager and block pool as a state
// machine over steps: Schedule says what a step computes, Update takes its result.
// With AsyncScheduling, Schedule runs one step ahead: at most two batches may be
// outstanding, and they are updated in the order in which they were scheduled.
// Without, one.
//
// The rules are those of vllm/v1/core at commit 017e9f4448b7 (August 2026);
// Conform holds the Scheduler against recordings of it.
type Scheduler struct {
	cfg       SchedulerConfig
	watermark int // blocks
	pool      pool
	running   []*Request // in the order of admission
	busy      []*Request // those of running that are not decoders
	decoders  decoders
	waiting   waitQueue
	blocked   blockedHead
	stats     Stats

	scheduled, updated int      // numbers of the last batches
	onTheWay           []*Batch // scheduled and not updated
	admissions         int
	woken              []*Request // since Schedule was called: they were decoders

	spare       []*Batch
	spareBlocks lists[int32]  // block tables of requests that have ended
	spareHashes lists[uint64] // and their hashes
	outputs     []*Request
	decoded     int
	hits        []int32
	ids         []uint32 // the tokens of one block
}

// Stats are totals since the start. Tokens of lookups by preempted requests are
// kept apart, as vLLM does: its exported counters leave them out.
type Stats struct {
	Preemptions                                  int
	PrefixQueries, PrefixHits                    int // tokens
	PreemptedPrefixQueries, PreemptedPrefixHits  int // tokens
	ScheduledTokens, OutputTokens, EndedRequests int
}

// NewScheduler returns a scheduler with an empty cache.
func NewScheduler(cfg SchedulerConfig) *Scheduler {
	return &Scheduler{
		cfg:       cfg,
		watermark: int(cfg.Watermark * float64(cfg.NumGPUBlocks)),
		pool:      newPool(cfg.NumGPUBlocks),
		decoders:  newDecoders(cfg.BlockSize),
		waiting:   waitQueue{priority: cfg.Priority},
		ids:       make([]uint32, cfg.BlockSize),
	}
}

// Running returns the number of requests that hold a seat.
func (s *Scheduler) Running() int { return len(s.running) }

// Waiting returns the number of requests that wait for one.
func (s *Scheduler) Waiting() int { return s.waiting.len() }

// Unfinished returns the number of requests that have not ended.
func (s *Scheduler) Unfinished() int { return len(s.running) + s.waiting.len() }

// KVUsage returns the share of KV blocks that running requests hold.
func (s *Scheduler) KVUsage() float64 { return s.pool.usage() }

// Stats returns the totals since the start.
func (s *Scheduler) Stats() Stats { return s.stats }

// Add queues a request.
func (s *Scheduler) Add(r *Request) {
	r.state = stateWaiting
	r.promptTokens = r.Prompt.Len()
	r.known = r.promptTokens
	r.limit = min(r.promptTokens+r.MaxTokens, s.cfg.MaxModelLen)
	r.hashAt = never
	if s.cfg.EnablePrefixCaching {
		r.hashAt = s.cfg.BlockSize
	}
	s.waiting.append(r)
}

// Schedule starts a step. The batch belongs to the scheduler again after its
// Update.
func (s *Scheduler) Schedule() *Batch {
	s.woken = s.woken[:0]
	s.wakeDue()
	if s.decoders.len > 0 && !s.ample() {
		s.wakeAll()
	}
	b := s.newBatch()
	budget := s.scheduleBusy(b, s.cfg.MaxNumBatchedTokens-s.decode(b))
	// A step that had to preempt is short of blocks: it admits nobody.
	if len(b.Preempted) == 0 {
		s.scheduleWaiting(b, budget)
	}
	s.stats.ScheduledTokens += b.Load.Tokens
	return b
}

func (s *Scheduler) newBatch() *Batch {
	b := new(Batch)
	if last := len(s.spare) - 1; last >= 0 {
		b = s.spare[last]
		s.spare = s.spare[:last]
	}
	s.scheduled++
	b.number = s.scheduled
	s.onTheWay = append(s.onTheWay, b)
	return b
}

// scheduleBusy gives tokens to running requests in order, decodes and chunks of
// prompts alike, and returns what is left of the budget.
func (s *Scheduler) scheduleBusy(b *Batch, budget int) int {
	for i := 0; i < len(s.busy) && budget > 0; {
		r := s.busy[i]
		n := s.nextTokens(r, budget)
		if n <= 0 {
			// A later request may still have work: this is not strictly fcfs.
			i++
			continue
		}
		for r.computed+n > r.slots && !s.grow(r, r.computed+n) {
			// There are no decoders then (ample), so all that run are busy.
			victim, at := s.victim()
			s.running = slices.Delete(s.running, at, at+1)
			s.busy = slices.Delete(s.busy, at, at+1)
			if at < i {
				i--
			}
			budget += s.preempt(b, victim)
			if victim == r {
				// Nobody less urgent is left to make room, so the step ends here, even
				// when requests behind r would need no block.
				return budget
			}
		}
		s.put(b, r, n)
		budget -= n
		i++
	}
	return budget
}

// nextTokens returns how many tokens a running request computes next.
func (s *Scheduler) nextTokens(r *Request, budget int) int {
	// Async: the step that is in flight is certain to reach max_tokens.
	if r.placeholders > 0 && r.computed+2-r.placeholders >= r.promptTokens+r.MaxTokens {
		return 0
	}
	n := r.known + r.placeholders - r.computed
	if n > 1 {
		n = min(s.belowThreshold(n), budget)
	}
	return min(n, s.cfg.MaxModelLen-1-r.computed)
}

func (s *Scheduler) belowThreshold(n int) int {
	if t := s.cfg.LongPrefillTokenThreshold; 0 < t && t < n {
		return t
	}
	return n
}

// grow gives r blocks for its first n tokens and reports whether there were enough.
func (s *Scheduler) grow(r *Request, n int) bool {
	need := s.blocksOf(n) - len(r.blocks)
	if need > s.pool.free() {
		return false
	}
	s.take(r, need)
	return true
}

func (s *Scheduler) take(r *Request, n int) {
	r.blocks = s.pool.take(r.blocks, n)
	r.slots = len(r.blocks) * s.cfg.BlockSize
}

func (s *Scheduler) blocksOf(tokens int) int {
	return (tokens + s.cfg.BlockSize - 1) / s.cfg.BlockSize
}

// victim picks the running request that makes room: under fcfs the one admitted
// last, under priority the least urgent, even one that this step has served.
func (s *Scheduler) victim() (victim *Request, at int) {
	if !s.cfg.Priority {
		at = len(s.running) - 1
		return s.running[at], at
	}
	for i, r := range s.running {
		if victim == nil || r.Priority > victim.Priority ||
			r.Priority == victim.Priority && r.Arrival > victim.Arrival {
			victim, at = r, i
		}
	}
	return victim, at
}

// preempt takes everything computed from r, which has left running, and queues it
// again; its output tokens stay. It returns the tokens that r had in this step.
func (s *Scheduler) preempt(b *Batch, r *Request) int {
	n := b.drop(r)
	if n > 0 {
		r.computed -= n
		r.inFlight -= n
		b.Load.remove(r.computed, n)
	}
	s.free(r)
	r.state = statePreempted
	// A step in flight still delivers its token, but the counters start anew.
	r.stale = r.inFlight
	r.placeholders = 0
	r.preemptions++
	s.stats.Preemptions++
	s.waiting.prepend(r)
	b.Preempted = append(b.Preempted, r)
	return n
}

// free gives back the blocks of r.
func (s *Scheduler) free(r *Request) {
	s.pool.release(r.blocks)
	r.blocks = r.blocks[:0]
	r.slots, r.hashed, r.computed = 0, 0, 0
	if s.cfg.EnablePrefixCaching {
		r.hashAt = s.cfg.BlockSize
	}
}

// put makes n tokens of r part of the step, for which it has blocks.
func (s *Scheduler) put(b *Batch, r *Request, n int) {
	b.Load.add(r.computed, n)
	r.computed += n
	r.inFlight += n
	// Blocks are hashed as soon as they are scheduled: a request admitted behind r
	// in the same step can share them. Tokens that have not arrived have no hash yet.
	if full := min(r.computed, r.known); full >= r.hashAt {
		s.hash(r, full)
	}
	token := r.computed >= r.known+r.placeholders
	if token && s.cfg.AsyncScheduling {
		r.placeholders++
	}
	b.items = append(b.items, item{request: r, tokens: int32(n), token: token})
}

// scheduleWaiting admits requests from the head of the queue. One that cannot be
// admitted blocks those behind it.
func (s *Scheduler) scheduleWaiting(b *Batch, budget int) {
	for s.waiting.len() > 0 && budget > 0 && len(s.running) < s.cfg.MaxNumSeqs {
		r := s.waiting.head()
		if r == s.blocked.request && s.blocked.need+s.reserve() > s.pool.free() {
			return
		}
		hits := s.cachedBlocks(r)
		cached := len(hits) * s.cfg.BlockSize
		n := s.belowThreshold(r.known - cached)
		if n > budget {
			if !s.cfg.EnableChunkedPrefill {
				return
			}
			n = budget
		}
		if !s.admit(r, hits, cached+n) {
			return
		}
		s.blocked = blockedHead{}
		s.countLookup(r, cached)
		s.waiting.remove(r)
		s.admissions++
		r.order = s.admissions
		s.running, s.busy = append(s.running, r), append(s.busy, r)
		r.state = stateRunning
		r.computed = cached
		b.Admitted = append(b.Admitted, r)
		s.put(b, r, n)
		budget -= n
	}
}

// cachedBlocks returns the blocks that hold the start of r's tokens. At least one
// token is left to compute, or there would be no logits to sample from.
func (s *Scheduler) cachedBlocks(r *Request) []int32 {
	s.hits = s.hits[:0]
	if !s.cfg.EnablePrefixCaching {
		return nil
	}
	for i := range (r.known - 1) / s.cfg.BlockSize {
		id := s.pool.lookup(s.hashOf(r, i))
		if id == 0 {
			break
		}
		s.hits = append(s.hits, id)
	}
	return s.hits
}

// admit gives r its cached blocks and new ones for its first n tokens, if they fit.
func (s *Scheduler) admit(r *Request, hits []int32, n int) bool {
	// A hit that nobody uses is a free block until now.
	taken := 0
	for _, id := range hits {
		if s.pool.blocks[id].refs == 0 {
			taken++
		}
	}
	if full := s.blocksOf(min(r.known, s.cfg.MaxModelLen)) - len(hits) + taken; s.cfg.ReserveFullISL && full+s.reserve() > s.pool.free() {
		s.block(r, len(hits), full)
		return false
	}
	need := s.blocksOf(min(n, s.cfg.MaxModelLen)) - len(hits)
	if need+taken+s.reserve() > s.pool.free() {
		return false
	}
	for _, id := range hits {
		s.pool.touch(id)
	}
	if r.blocks == nil {
		r.blocks = s.spareBlocks.take(s.blocksOf(r.limit))
	}
	r.blocks = append(r.blocks, hits...)
	r.hashed = len(hits)
	if r.hashAt != never {
		r.hashAt = (r.hashed + 1) * s.cfg.BlockSize
	}
	s.take(r, need)
	return true
}

// reserve is how many blocks an admission must leave free: none when nothing runs.
func (s *Scheduler) reserve() int {
	if len(s.running) == 0 {
		return 0
	}
	return s.watermark
}

// blockedHead remembers why the head of the queue could not be admitted, so that
// the steps until something changes need not look its whole prompt up in the
// prefix cache again (BenchmarkServer). The blocks that it needs grow when hits
// are evicted or nobody uses them any more; they shrink only when another request
// is admitted or the first block that missed appears in the cache.
type blockedHead struct {
	request *Request
	need    int
	miss    uint64
	misses  bool // miss is set: not all of the prompt was found
}

func (s *Scheduler) block(r *Request, hits, need int) {
	s.blocked = blockedHead{request: r, need: need}
	if s.cfg.EnablePrefixCaching && hits < (r.known-1)/s.cfg.BlockSize {
		s.blocked.miss, s.blocked.misses = s.hashOf(r, hits), true
	}
}

func (s *Scheduler) countLookup(r *Request, cached int) {
	if r.preemptions == 0 {
		r.cachedTokens = cached
	}
	switch {
	case !s.cfg.EnablePrefixCaching:
	case r.preemptions > 0:
		s.stats.PreemptedPrefixQueries += r.known
		s.stats.PreemptedPrefixHits += cached
	default:
		s.stats.PrefixQueries += r.known
		s.stats.PrefixHits += cached
	}
}

// hash puts the full blocks among the first n tokens of r into the prefix cache.
func (s *Scheduler) hash(r *Request, n int) {
	if n >= r.hashAt+s.cfg.BlockSize { // several
		s.hashOf(r, n/s.cfg.BlockSize-1)
		for _, hash := range r.hashes[r.hashed : n/s.cfg.BlockSize] {
			s.pool.fetch(hash)
		}
	}
	for r.hashAt <= n {
		hash := s.hashOf(r, r.hashed)
		if s.blocked.misses && hash == s.blocked.miss {
			s.blocked = blockedHead{}
		}
		s.pool.remember(r.blocks[r.hashed], hash)
		r.hashed++
		r.hashAt += s.cfg.BlockSize
	}
}

// hashOf returns the hash of r's full block i.
func (s *Scheduler) hashOf(r *Request, i int) uint64 {
	if len(r.hashes) <= i {
		s.hashUpTo(r, i)
	}
	return r.hashes[i]
}

// hashUpTo computes the hashes of r's blocks up to block i.
func (s *Scheduler) hashUpTo(r *Request, i int) {
	shared := 0 // full blocks that other requests have computed, or can use
	if r.Shared != nil && r.Salt == "" {
		shared = r.Shared.Tokens / s.cfg.BlockSize
	}
	if r.hashes == nil {
		r.hashes = s.spareHashes.take(r.limit / s.cfg.BlockSize)
		if shared > 0 {
			r.hashes = append(r.hashes, r.Shared.hashes...)
		}
	}
	for len(r.hashes) <= i {
		parent := uint64(0)
		if last := len(r.hashes) - 1; last >= 0 {
			parent = r.hashes[last]
		} else if r.Salt != "" {
			parent = saltHash(r.Salt)
		}
		r.hashes = append(r.hashes, blockHash(parent, s.blockIDs(r, len(r.hashes))))
	}
	if shared > 0 && len(r.hashes) >= shared && len(r.Shared.hashes) < shared {
		r.Shared.hashes = slices.Clone(r.hashes[:shared])
	}
}

// blockIDs returns the token ids of r's block i.
func (s *Scheduler) blockIDs(r *Request, i int) []uint32 {
	start := i * s.cfg.BlockSize
	if end := start + s.cfg.BlockSize; end <= r.promptTokens {
		if ids := r.Prompt.Range(start, end); ids != nil {
			return ids
		}
	}
	for j := range s.ids {
		s.ids[j] = r.token(start + j)
	}
	return s.ids
}
