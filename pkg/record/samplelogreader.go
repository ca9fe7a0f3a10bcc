package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/klauspost/compress/zstd"
)

// sampleLogReader reads a log frame by frame.
type sampleLogReader struct {
	r      io.Reader
	zstd   *zstd.Decoder
	meta   map[string]string
	series []logged
	last   int
	lastAt int64

	packed, payload []byte
	texts           map[string]*string // of all series, each once
}

// once returns the one copy of a text.
func (l *sampleLogReader) once(text string) *string {
	known := l.texts[text]
	if known == nil {
		if l.texts == nil {
			l.texts = make(map[string]*string)
		}
		known = &text
		l.texts[text] = known
	}
	return known
}

// share makes the texts that a series has in common with others those of the others.
func (l *sampleLogReader) share(s *Sample) {
	for _, text := range []*string{&s.Experiment, &s.Arm, &s.Source, &s.Metric, &s.Canonical, &s.Type} {
		*text = *l.once(*text)
	}
	for _, column := range s.promoted() {
		if *column != nil {
			*column = l.once(**column)
		}
	}
}

// openSampleLog reads the magic and the first frame, which has the metadata that was
// there from the start.
func (r *Reader[T]) openSampleLog(from io.Reader) error {
	var magic [4]byte
	if _, err := io.ReadFull(from, magic[:]); err != nil {
		return err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxLogFrame))
	if err != nil {
		return err
	}
	log := &sampleLogReader{r: from, zstd: decoder, meta: make(map[string]string), last: -1}
	if _, err := log.next(); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("found an end mark where metadata begin")
		}
		return err
	}
	tag, ok := log.meta[SchemaKey]
	if s := schemaOf[T](); !ok || s != sampleSchema {
		return fmt.Errorf("found a log of samples, expected rows of schema %s", s.tag())
	} else if err := s.checkTag(tag, ok); err != nil {
		return err
	}
	r.meta = log.meta
	r.next = func() ([]T, error) {
		rows, err := log.next()
		if err != nil {
			decoder.Close()
			return nil, err
		}
		return any(rows).([]T), nil
	}
	return nil
}

// next returns the rows of a frame; io.EOF at the end mark.
func (l *sampleLogReader) next() ([]Sample, error) {
	var head [8]byte
	if _, err := io.ReadFull(l.r, head[:]); err != nil {
		return nil, cut(err)
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length == 0 {
		return nil, io.EOF
	}
	if length > maxLogFrame {
		return nil, fmt.Errorf("%w: found a frame of %d bytes, expected at most %d", ErrTruncated, length, maxLogFrame)
	}
	var err error
	if l.packed, err = readBody(l.r, int64(length)); err != nil {
		return nil, cut(err)
	}
	if found, want := crc32.Checksum(l.packed, castagnoli), binary.LittleEndian.Uint32(head[4:]); found != want {
		return nil, fmt.Errorf("%w: found a frame with checksum %08x, expected %08x", ErrTruncated, found, want)
	}
	if l.payload, err = l.zstd.DecodeAll(l.packed, l.payload[:0]); err != nil {
		return nil, cut(err)
	}
	rows, err := l.decode(logBytes{l.payload})
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrTruncated, err)
	}
	return rows, nil
}

func (l *sampleLogReader) decode(b logBytes) ([]Sample, error) {
	entries, err := b.count()
	if err != nil {
		return nil, err
	}
	for range entries {
		key, err := b.text()
		if err != nil {
			return nil, err
		}
		value, err := b.text()
		if err != nil {
			return nil, err
		}
		l.meta[string(key)] = string(value)
	}
	shapes, err := b.count()
	if err != nil {
		return nil, err
	}
	for range shapes {
		text, err := b.text()
		if err != nil {
			return nil, err
		}
		s := logged{next: -1}
		if err := json.Unmarshal(text, &s.shape); err != nil {
			return nil, err
		}
		l.share(&s.shape)
		l.series = append(l.series, s)
	}
	n, err := b.count()
	if err == nil && n > logFrameRows {
		err = fmt.Errorf("found %d rows in a frame, expected at most %d", n, logFrameRows)
	}
	if err != nil {
		return nil, err
	}
	return l.rows(b, n)
}

func (l *sampleLogReader) rows(b logBytes, n int) ([]Sample, error) {
	rows, numbers := make([]Sample, n), make([]int, n)
	for i := range numbers {
		code, err := b.uvarint()
		if err != nil {
			return nil, err
		}
		number := l.last
		switch {
		case code == logNextSeries && l.last >= 0:
			number = l.series[l.last].next
		case code >= logSeries:
			number = int(min(code-logSeries, math.MaxInt32))
		}
		if number < 0 || number >= len(l.series) {
			return nil, fmt.Errorf("found series %d of %d", number, len(l.series))
		}
		if l.last >= 0 {
			l.series[l.last].next = number
		}
		numbers[i], l.last = number, number
	}
	for i, number := range numbers {
		delta, err := b.varint()
		if err != nil {
			return nil, err
		}
		l.lastAt += delta
		rows[i] = l.series[number].shape
		rows[i].At = time.UnixMicro(l.lastAt).UTC()
	}
	if len(b.left) != 8*n {
		return nil, fmt.Errorf("found %d bytes of values, expected %d", len(b.left), 8*n)
	}
	for i, number := range numbers {
		s := &l.series[number]
		s.value ^= binary.LittleEndian.Uint64(b.left[8*i:])
		rows[i].Value = math.Float64frombits(s.value)
	}
	return rows, nil
}

// logBytes is what is left of a frame.
type logBytes struct{ left []byte }

func (b *logBytes) uvarint() (uint64, error) {
	v, n := binary.Uvarint(b.left)
	if n <= 0 {
		return 0, errors.New("found a number that does not end")
	}
	b.left = b.left[n:]
	return v, nil
}

func (b *logBytes) varint() (int64, error) {
	v, n := binary.Varint(b.left)
	if n <= 0 {
		return 0, errors.New("found a number that does not end")
	}
	b.left = b.left[n:]
	return v, nil
}

// count reads how many of something follow, of which each takes a byte at least.
func (b *logBytes) count() (int, error) {
	v, err := b.uvarint()
	if err == nil && v > uint64(len(b.left)) {
		err = fmt.Errorf("found a count of %d with %d bytes left", v, len(b.left))
	}
	return int(v), err
}

func (b *logBytes) text() ([]byte, error) {
	n, err := b.count()
	if err != nil {
		return nil, err
	}
	text := b.left[:n]
	b.left = b.left[n:]
	return text, nil
}
