package gateway

import (
	"bytes"
	"iter"
)

// resultFile is an output or error file while its job runs.
type resultFile struct {
	content  []byte
	buffered int // bytes that the processor has not written to its disk
}

// writeBuffer is the size of the processor's buffer before a result file.
const writeBuffer = 1 << 20

func (f *resultFile) add(r result, id, customID string) {
	before := len(f.content)
	f.content = r.append(f.content, id, customID)
	// As bufio.Writer does: what does not fit fills the buffer, which is written
	// whole, and into an empty buffer nothing goes that is larger.
	rest := len(f.content) - before
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
func (f *resultFile) onDisk() string { return string(f.content[:len(f.content)-f.buffered]) }

func (f *resultFile) text() string { return string(f.content) }

func (f *resultFile) lines() iter.Seq[[]byte] { return bytes.Lines(f.content) }
