package engine

import "math/bits"

// pool holds the KV blocks: who uses them, which of the free ones goes next, and
// which prefix each of them holds (vLLM v1, BlockPool).
//
// Block 0 is vLLM's null block: it is never handed out, and means none.
type pool struct {
	blocks  []block
	queue   freeQueue
	buckets []int32 // prefix cache: hash -> first block of a chain, 0 when empty
	mask    uint64
	fetched int32 // see fetch
}

type block struct {
	hash   uint64
	place  uint32 // in the free queue, valid while refs is 0
	chain  int32  // next block in the same bucket of the prefix cache
	refs   int32
	hashed bool // in the prefix cache
}

func newPool(blocks int) pool {
	p := pool{
		blocks:  make([]block, blocks),
		buckets: make([]int32, 1<<bits.Len(uint(2*blocks))),
	}
	p.mask = uint64(len(p.buckets) - 1)
	p.refill(newFreeQueue(blocks))
	return p
}

// refill makes q the free queue.
func (p *pool) refill(q freeQueue) {
	p.queue = q
	for place := q.head; place != q.tail; place++ {
		p.blocks[*q.at(place)].place = place
	}
}

// free is the number of blocks that nobody uses.
func (p *pool) free() int { return p.queue.len }

// used is the number of blocks that requests hold.
func (p *pool) used() int { return len(p.blocks) - 1 - p.free() }

// usage is the gauge vllm:kv_cache_usage_perc.
func (p *pool) usage() float64 {
	if len(p.blocks) <= 1 {
		return 0
	}
	return 1 - float64(p.free())/float64(len(p.blocks)-1)
}

// take removes n blocks from the head of the free queue, of which there must be
// enough, and appends them to table. What they held is forgotten.
func (p *pool) take(table []int32, n int) []int32 {
	start := len(table)
	for range n {
		table = append(table, p.queue.pop())
	}
	taken := table[start:]
	for _, id := range taken {
		b := &p.blocks[id]
		b.refs = 1
		if b.hashed {
			p.fetch(b.hash)
		}
	}
	for _, id := range taken {
		if p.blocks[id].hashed {
			p.forget(id)
		}
	}
	return table
}

// fetch reads what forget or remember will read of a hash. The reads of many wait for
// memory together, while the walks along the chains, which are hard to predict, would
// wait one after the other (BenchmarkServer).
func (p *pool) fetch(hash uint64) {
	p.fetched ^= p.blocks[p.buckets[hash&p.mask]].chain
}

// touch makes one more request a user of a cached block.
func (p *pool) touch(id int32) {
	b := &p.blocks[id]
	if b.refs == 0 {
		p.queue.remove(b.place)
	}
	b.refs++
}

// release ends the use of a request's blocks, last block first. Blocks in the
// prefix cache go to the tail of the free queue, so a sequence is evicted from
// its end; the others hold nothing and are used next.
func (p *pool) release(table []int32) {
	if !p.queue.room(len(table)) {
		p.refill(p.queue.compact())
	}
	unhashed := 0
	for _, id := range table {
		if b := &p.blocks[id]; b.refs == 1 && !b.hashed {
			unhashed++
		}
	}
	head := p.queue.open(unhashed) // where the next of them goes
	for i := len(table) - 1; i >= 0; i-- {
		id := table[i]
		b := &p.blocks[id]
		if b.refs--; b.refs > 0 {
			continue
		}
		if b.hashed {
			b.place = p.queue.append(id)
		} else {
			b.place = head
			*p.queue.at(head) = id
			head++
		}
	}
}

// lookup returns the block that holds the prefix of hash, 0 when there is none.
// Blocks are not merged when two requests compute the same prefix; the one that
// was hashed first is found.
func (p *pool) lookup(hash uint64) int32 {
	id := p.buckets[hash&p.mask]
	for id != 0 && p.blocks[id].hash != hash {
		id = p.blocks[id].chain
	}
	return id
}

// remember puts a block into the prefix cache, behind others with its hash.
func (p *pool) remember(id int32, hash uint64) {
	b := &p.blocks[id]
	b.hash, b.hashed, b.chain = hash, true, 0
	at := &p.buckets[hash&p.mask]
	for *at != 0 {
		at = &p.blocks[*at].chain
	}
	*at = id
}

func (p *pool) forget(id int32) {
	b := &p.blocks[id]
	at := &p.buckets[b.hash&p.mask]
	for *at != id {
		at = &p.blocks[*at].chain
	}
	*at = b.chain
	b.hashed = false
}
