package engine

import "math/bits"

// pool holds the KV blocks: who uses them, which of the free ones goes next, and
// which prefix each of them holds (vLLM v1, BlockPool and FreeKVCacheBlockQueue).
//
// Block 0 is vLLM's null block: it is never handed out. Here its links are the
// two ends of the free queue.
type pool struct {
	blocks  []block
	free    int
	buckets []int32 // prefix cache: hash -> first block of a chain, 0 when empty
	mask    uint64
}

type block struct {
	hash       uint64
	next, prev int32 // free queue, valid while refs is 0
	chain      int32 // next block in the same bucket of the prefix cache
	refs       int32
	hashed     bool // in the prefix cache
}

func newPool(blocks int) pool {
	p := pool{
		blocks:  make([]block, blocks),
		free:    blocks - 1,
		buckets: make([]int32, 1<<bits.Len(uint(2*blocks))),
	}
	p.mask = uint64(len(p.buckets) - 1)
	for i := range p.blocks {
		p.blocks[i].prev = int32((i + blocks - 1) % blocks)
		p.blocks[i].next = int32((i + 1) % blocks)
	}
	return p
}

// used is the number of blocks that requests hold.
func (p *pool) used() int { return len(p.blocks) - 1 - p.free }

// usage is the gauge vllm:kv_cache_usage_perc.
func (p *pool) usage() float64 {
	if len(p.blocks) <= 1 {
		return 0
	}
	return 1 - float64(p.free)/float64(len(p.blocks)-1)
}

// take removes n blocks from the head of the free queue, of which there must be
// enough, and appends them to table. What they held is forgotten.
func (p *pool) take(table []int32, n int) []int32 {
	for range n {
		id := p.blocks[0].next
		p.unlink(id)
		b := &p.blocks[id]
		if b.hashed {
			p.forget(id)
		}
		b.refs = 1
		table = append(table, id)
	}
	return table
}

// touch makes one more request a user of a cached block.
func (p *pool) touch(id int32) {
	b := &p.blocks[id]
	if b.refs == 0 {
		p.unlink(id)
	}
	b.refs++
}

// release ends the use of a request's blocks, last block first. Blocks in the
// prefix cache go to the tail of the free queue, so a sequence is evicted from
// its end; the others hold nothing and are used next.
func (p *pool) release(table []int32) {
	var head int32 // where the next unhashed block goes
	for i := len(table) - 1; i >= 0; i-- {
		id := table[i]
		b := &p.blocks[id]
		if b.refs--; b.refs > 0 {
			continue
		}
		if b.hashed {
			p.link(id, p.blocks[0].prev)
		} else {
			p.link(id, head)
			head = id
		}
	}
}

func (p *pool) link(id, after int32) {
	next := p.blocks[after].next
	p.blocks[id].prev, p.blocks[id].next = after, next
	p.blocks[after].next, p.blocks[next].prev = id, id
	p.free++
}

func (p *pool) unlink(id int32) {
	b := &p.blocks[id]
	p.blocks[b.prev].next, p.blocks[b.next].prev = b.next, b.prev
	p.free--
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

// freeQueue lists the free blocks from head to tail.
func (p *pool) freeQueue() []int32 {
	ids := make([]int32, 0, p.free)
	for id := p.blocks[0].next; id != 0; id = p.blocks[id].next {
		ids = append(ids, id)
	}
	return ids
}
