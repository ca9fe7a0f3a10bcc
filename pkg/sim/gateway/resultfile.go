package gateway

import (
	"bytes"
	"iter"
	"slices"
	"strings"
)

// resultFile is an output or error file while its job runs. It is kept in chunks of
// whole lines: one piece of memory that grows would be copied again and again.
type resultFile struct {
	chunks   [][]byte
	size     int
	buffered int // bytes that the processor has not written to its disk
}

const (
	// writeBuffer is the size of the processor's buffer before a result file.
	writeBuffer = 1 << 20
	chunkSize   = 1 << 16
)

func (f *resultFile) add(r result, id, customID string) {
	last := len(f.chunks) - 1
	if last < 0 || cap(f.chunks[last])-len(f.chunks[last]) < r.room(id, customID) {
		f.chunks = append(f.chunks, make([]byte, 0, max(chunkSize, r.room(id, customID))))
		last++
	}
	before := len(f.chunks[last])
	f.chunks[last] = r.append(f.chunks[last], id, customID)
	line := len(f.chunks[last]) - before
	f.size += line
	// As bufio.Writer does: what does not fit fills the buffer, which is written
	// whole, and into an empty buffer nothing goes that is larger.
	rest := line
	for rest > writeBuffer-f.buffered {
		if f.buffered == 0 {
			return
		}
		rest -= writeBuffer - f.buffered
		f.buffered = 0
	}
	f.buffered += rest
}

// onDisk is what is left of the file when the process is killed.
func (f *resultFile) onDisk() string { return f.text()[:f.size-f.buffered] }

func (f *resultFile) text() string {
	var b strings.Builder
	b.Grow(f.size)
	for _, chunk := range f.chunks {
		b.Write(chunk)
	}
	return b.String()
}

// snapshot is the file as it is now. Only one of the two may grow afterwards whose
// text counts.
func (f *resultFile) snapshot() resultFile {
	kept := *f
	kept.chunks = slices.Clone(f.chunks)
	return kept
}

func (f *resultFile) lines() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, chunk := range f.chunks {
			for line := range bytes.Lines(chunk) {
				if !yield(line) {
					return
				}
			}
		}
	}
}
