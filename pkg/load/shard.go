package load

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
)

// Shard is the part of a cell that one of several load generators plays: every
// Count-th line of the schedule. Batch work is the first one's. The zero value is the
// whole cell.
type Shard struct {
	Index, Count int // 1-based
	// StartAt is when all shards begin, on clocks that should agree.
	StartAt time.Time
}

// ParseShard reads i/n.
func ParseShard(text string) (Shard, error) {
	i, n, ok := strings.Cut(text, "/")
	s := Shard{}
	var errI, errN error
	s.Index, errI = strconv.Atoi(i)
	s.Count, errN = strconv.Atoi(n)
	if !ok || errI != nil || errN != nil || s.Index < 1 || s.Index > s.Count || s.Count > record.MaxShards {
		return Shard{}, fmt.Errorf("found %q, expected I/N such as 2/3, with N up to %d", text, record.MaxShards)
	}
	return s, nil
}

// Dir is the folder of the shard below that of its cell.
func (s Shard) Dir(cell string) string {
	if s.Count == 0 {
		return cell
	}
	return filepath.Join(cell, record.ShardDir(s.Index, s.Count))
}

// batch reports whether batch work is this shard's.
func (s Shard) batch() bool { return s.Count == 0 || s.Index == 1 }

// of returns the part of a trial that is this shard's. Prompts keep their numbers,
// requests their ids.
func (s Shard) of(set *inputs.Set) *inputs.Set {
	if s.Count <= 1 {
		return set
	}
	part := *set
	part.Schedule = nil
	for _, line := range set.Schedule {
		if line.I%s.Count != s.Index-1 {
			continue
		}
		if line.InFlight > 0 {
			// The first shards take one more of what does not divide.
			if line.InFlight = s.share(line.InFlight); line.InFlight == 0 {
				continue
			}
		}
		part.Schedule = append(part.Schedule, line)
	}
	return &part
}

func (s Shard) share(n int) int {
	share := n / s.Count
	if s.Index <= n%s.Count {
		share++
	}
	return share
}
