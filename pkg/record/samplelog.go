package record

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A sample log is what the unfinished file of samples is. A scraper writes the same
// series every second, so the log names a series once and after that keeps of each
// sample what changed: 1 to 3 bytes, where a row of an Arrow stream has 400
// (BenchmarkSampleLog).
//
//	"BGS1", then frames:
//	frame    length and CRC-32C of the rest, 4 bytes each; the rest, zstd-compressed:
//	         metadata: count, then key and value each
//	         new series: count, then a Sample without time and value as JSON each
//	         rows: count, then three columns:
//	           which series: 0 the one that followed the last row's the last time,
//	             1 the same again, else the number of the series + 2
//	           at, less the last row's, in microseconds, zigzag
//	           value, 8 bytes little endian, xor the last one of the series
//	end      a frame of length 0
//
// Counts and texts' lengths are varints. Each frame can be read without those behind
// it, so what a killed writer loses is the rows since its last Flush.
var sampleLogMagic = []byte("BGS1")

// logFrameRows bounds what a frame makes a reader hold.
const logFrameRows = 16384

// maxLogFrame is far above what so many rows of new series need.
const maxLogFrame = 1 << 30

const (
	logNextSeries = iota
	logSameSeries
	logSeries // + its number
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sampleLog writes a log. It is not safe for concurrent use. What the fields of a row
// point to must not change after Write.
type sampleLog struct {
	w      io.Writer
	zstd   *zstd.Encoder
	known  map[seriesKey][]int // numbers of series; more than one if only columns differ
	series []logged
	last   int // series of the last row, -1 before it
	lastAt int64

	// The frame that is being made.
	metadata, shapes         [][2]string // shapes have no key
	which, at, values, frame []byte
	rows                     int
	err                      error // the first failure; nothing is written after it
}

// logged is what both ends of a log know of a series.
type logged struct {
	shape Sample
	next  int // that followed it the last time
	value uint64
}

func newSampleLog(w io.Writer, meta map[string]string) (*sampleLog, error) {
	// One frame at a time, and no window beyond a frame: the encoder must not cost
	// more memory than the rows.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	l := &sampleLog{w: w, zstd: encoder, known: make(map[seriesKey][]int), last: -1}
	l.setMeta(SchemaKey, sampleSchema.tag())
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != SchemaKey {
			l.setMeta(key, meta[key])
		}
	}
	l.frame = append(l.frame, sampleLogMagic...)
	return l, l.flush()
}

// setMeta adds metadata, at any time before Close; a later value of a key counts.
func (l *sampleLog) setMeta(key, value string) {
	l.metadata = append(l.metadata, [2]string{key, value})
}

func (l *sampleLog) Write(rows ...Sample) error {
	for i := range rows {
		if l.err != nil {
			return l.err
		}
		if err := l.add(&rows[i]); err != nil {
			return err
		}
		if l.rows >= logFrameRows {
			if err := l.flush(); err != nil {
				return err
			}
		}
	}
	return l.err
}

func (l *sampleLog) add(row *Sample) error {
	number, err := l.number(row)
	if err != nil {
		return err
	}
	switch {
	case l.last >= 0 && l.series[l.last].next == number:
		l.which = append(l.which, logNextSeries)
	case l.last == number:
		l.which = append(l.which, logSameSeries)
	default:
		l.which = binary.AppendUvarint(l.which, uint64(logSeries+number))
	}
	if l.last >= 0 {
		l.series[l.last].next = number
	}
	at, bits := row.At.UnixMicro(), math.Float64bits(row.Value)
	l.at = binary.AppendVarint(l.at, at-l.lastAt)
	s := &l.series[number]
	l.values = binary.LittleEndian.AppendUint64(l.values, bits^s.value)
	s.value, l.last, l.lastAt = bits, number, at
	l.rows++
	return nil
}

// number returns the number of the series of a row, which is new to the log at first.
func (l *sampleLog) number(row *Sample) (int, error) {
	if l.last >= 0 {
		for _, guess := range [...]int{l.series[l.last].next, l.last} {
			if guess >= 0 && l.series[guess].is(row) {
				return guess, nil
			}
		}
	}
	key := seriesKey{row.Metric, row.SeriesID}
	for _, number := range l.known[key] {
		if l.series[number].is(row) {
			return number, nil
		}
	}
	shape := *row
	shape.At, shape.Value = time.Time{}, 0
	text, err := json.Marshal(shape)
	if err != nil {
		return 0, l.fail(err)
	}
	l.shapes = append(l.shapes, [2]string{"", string(text)})
	number := len(l.series)
	l.series = append(l.series, logged{shape: shape, next: -1})
	l.known[key] = append(l.known[key], number)
	return number, nil
}

// is says whether row belongs to the series. It remembers the row's strings: the next
// row likely points to the same ones, which makes the comparison short.
func (s *logged) is(row *Sample) bool {
	shape := *row
	shape.At, shape.Value = time.Time{}, 0
	if s.shape == shape {
		return true
	}
	if s.shape.SeriesID != shape.SeriesID || !sameShape(s.shape, shape) {
		return false
	}
	s.shape = shape
	return true
}

// Flush writes the rows that wait.
func (l *sampleLog) Flush() error {
	if l.err != nil || l.rows == 0 && len(l.metadata) == 0 {
		return l.err
	}
	return l.flush()
}

// Close writes what waits and the end mark.
func (l *sampleLog) Close() error {
	if err := l.Flush(); err != nil {
		return err
	}
	var end [8]byte
	if _, err := l.w.Write(end[:]); err != nil {
		return l.fail(err)
	}
	return nil
}

func (l *sampleLog) flush() error {
	var head []byte
	head = appendTexts(head, l.metadata, true)
	head = appendTexts(head, l.shapes, false)
	head = binary.AppendUvarint(head, uint64(l.rows))
	payload := slices.Concat(head, l.which, l.at, l.values)
	begin := len(l.frame) // behind the magic, once
	l.frame = append(l.frame, make([]byte, 8)...)
	l.frame = l.zstd.EncodeAll(payload, l.frame)
	packed := l.frame[begin+8:]
	binary.LittleEndian.PutUint32(l.frame[begin:], uint32(len(packed)))
	binary.LittleEndian.PutUint32(l.frame[begin+4:], crc32.Checksum(packed, castagnoli))
	_, err := l.w.Write(l.frame)
	l.metadata, l.shapes, l.rows = nil, nil, 0
	l.which, l.at, l.values, l.frame = l.which[:0], l.at[:0], l.values[:0], l.frame[:0]
	if err != nil {
		return l.fail(err)
	}
	return nil
}

func appendTexts(to []byte, texts [][2]string, keyed bool) []byte {
	to = binary.AppendUvarint(to, uint64(len(texts)))
	for _, t := range texts {
		if keyed {
			to = append(binary.AppendUvarint(to, uint64(len(t[0]))), t[0]...)
		}
		to = append(binary.AppendUvarint(to, uint64(len(t[1]))), t[1]...)
	}
	return to
}

func (l *sampleLog) fail(err error) error {
	l.err = fmt.Errorf("writing %s rows: %w", sampleSchema.name, err)
	return l.err
}
