package record

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
)

// spillPoints is how many samples are sorted in memory: 24 MB of them, and up to
// twice that while they grow.
const spillPoints = 1 << 20

// SortSamples yields samples by metric, series and time. What memory should not hold
// waits in a file in dir.
func SortSamples(dir string, samples iter.Seq2[Sample, error]) iter.Seq2[Sample, error] {
	batches := func(yield func([]Sample, error) bool) {
		batch := make([]Sample, 0, readRows)
		for row, err := range samples {
			if err != nil {
				yield(nil, err)
				return
			}
			if batch = append(batch, row); len(batch) == cap(batch) {
				if !yield(batch, nil) {
					return
				}
				batch = batch[:0]
			}
		}
		yield(batch, nil)
	}
	return func(yield func(Sample, error) bool) {
		for rows, err := range sortSamples(dir, spillPoints, batches) {
			if err != nil {
				yield(Sample{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// sortSamples yields samples by metric, series and time. It sorts at most limit of
// them at a time, writes these to a file in dir, and merges what it wrote in the end
// (BenchmarkHourOfSamples). In memory stay the series, and the samples of one.
func sortSamples(dir string, limit int, samples iter.Seq2[[]Sample, error]) iter.Seq2[[]Sample, error] {
	return func(yield func([]Sample, error) bool) {
		var set SampleSet
		var out spill
		defer out.close()
		waiting := 0
		for rows, err := range samples {
			if waiting+len(rows) > limit && err == nil && waiting > 0 {
				err = out.add(dir, &set)
				waiting = 0
			}
			if err != nil {
				yield(nil, err)
				return
			}
			set.Add(rows...)
			waiting += len(rows)
		}
		if out.file == nil {
			set.batches()(yield)
			return
		}
		if err := out.add(dir, &set); err != nil {
			yield(nil, err)
			return
		}
		out.merge(&set, yield)
	}
}

// spill is a temporary file of sorted runs. A run has, for each of its series in
// order, the series' number, how many points, and the points.
type spill struct {
	file    *os.File
	ends    []int64         // of the runs
	numbers map[*series]int // of all series so far
	series  []*series
}

// add moves the points of set into a run of the file.
func (s *spill) add(dir string, set *SampleSet) error {
	if s.file == nil {
		f, err := os.CreateTemp(dir, ".sort-*")
		if err != nil {
			return fmt.Errorf("sorting samples: %w", err)
		}
		s.file, s.numbers = f, make(map[*series]int)
	}
	out := bufio.NewWriterSize(s.file, 1<<16)
	var buffer []byte
	for _, key := range set.keys() {
		one := set.series[key]
		if len(one.points) == 0 {
			continue
		}
		number, ok := s.numbers[one]
		if !ok {
			number = len(s.series)
			s.numbers[one], s.series = number, append(s.series, one)
		}
		one.sort()
		buffer = binary.AppendUvarint(buffer[:0], uint64(number))
		buffer = binary.AppendUvarint(buffer, uint64(len(one.points)))
		last := int64(0)
		for _, p := range one.points {
			buffer = binary.AppendVarint(buffer, p.at-last)
			buffer = binary.AppendUvarint(buffer, uint64(p.shape))
			buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(p.value))
			last = p.at
		}
		one.points = one.points[:0] // their memory is for the next run
		if _, err := out.Write(buffer); err != nil {
			return fmt.Errorf("sorting samples: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("sorting samples: %w", err)
	}
	end, err := s.file.Seek(0, io.SeekCurrent)
	s.ends = append(s.ends, end)
	return err
}

// merge yields the samples of all runs in order.
func (s *spill) merge(set *SampleSet, yield func([]Sample, error) bool) {
	runs, err := s.runs()
	if err != nil {
		yield(nil, err)
		return
	}
	var buffer []Sample
	for _, key := range set.keys() {
		one := set.series[key]
		one.points = nil
		for _, r := range runs {
			for r.series == one {
				if err := r.take(one); err != nil {
					yield(nil, fmt.Errorf("sorting samples: %w", err))
					return
				}
			}
		}
		for rows := range one.batches(&buffer) {
			if !yield(rows, nil) {
				return
			}
		}
		one.points = nil
	}
}

func (s *spill) runs() ([]*spilledRun, error) {
	var runs []*spilledRun
	begin := int64(0)
	for _, end := range s.ends {
		r := &spilledRun{of: s, in: bufio.NewReaderSize(io.NewSectionReader(s.file, begin, end-begin), 1<<14)}
		if err := r.advance(); err != nil {
			return nil, fmt.Errorf("sorting samples: %w", err)
		}
		runs, begin = append(runs, r), end
	}
	return runs, nil
}

func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

// spilledRun reads a run.
type spilledRun struct {
	of     *spill
	in     *bufio.Reader
	series *series // whose points come next; nil at the end
	points uint64
}

// advance reads which series comes next.
func (r *spilledRun) advance() error {
	r.series = nil
	number, err := binary.ReadUvarint(r.in)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	r.series = r.of.series[number]
	r.points, err = binary.ReadUvarint(r.in)
	return err
}

// take appends the points that come next to those of their series.
func (r *spilledRun) take(to *series) error {
	to.points = slices.Grow(to.points, int(r.points))
	last := int64(0)
	for range r.points {
		delta, err := binary.ReadVarint(r.in)
		if err != nil {
			return err
		}
		shape, err := binary.ReadUvarint(r.in)
		if err != nil {
			return err
		}
		var bits [8]byte
		if _, err := io.ReadFull(r.in, bits[:]); err != nil {
			return err
		}
		last += delta
		to.points = append(to.points, point{last, math.Float64frombits(binary.LittleEndian.Uint64(bits[:])), int(shape)})
	}
	return r.advance()
}

// sort brings the points into the order of time.
func (s *series) sort() {
	slices.SortStableFunc(s.points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
}
