package record

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// MaxShards bounds how many load generators play one cell.
const MaxShards = 1000

// ShardDir is the name of a shard's folder in that of its cell; index counts from 1.
func ShardDir(index, count int) string { return fmt.Sprintf("shard-%d-of-%d", index, count) }

// Shard says in a run's metadata which part of a cell it was.
type Shard struct {
	Index   int       `json:"index"`    // 1-based
	Count   int       `json:"count"`    // how many shards the cell has
	StartAt time.Time `json:"start_at"` // when all shards were to begin
	// Clock is null where the stack tells no time.
	Clock *ClockOffset `json:"clock"`
}

// ClockOffset is how far the clock of a server was ahead of that of a machine.
type ClockOffset struct {
	Reference    string  `json:"reference"`     // address of the server
	OffsetS      float64 `json:"offset_s"`      // ahead, if above 0
	UncertaintyS float64 `json:"uncertainty_s"` // either way
}

// Behind is how far the clock of s was behind that of another shard; 0 where one of them
// does not know.
func (s Shard) Behind(other Shard) time.Duration {
	if s.Clock == nil || other.Clock == nil {
		return 0
	}
	return time.Duration((s.Clock.OffsetS - other.Clock.OffsetS) * float64(time.Second))
}

// Shift brings the instants of q to a clock that is d ahead.
func (q *Request) Shift(d time.Duration) {
	if d == 0 {
		return
	}
	for _, at := range []**time.Time{&q.DueAt, &q.SentAt, &q.HeadersAt, &q.FirstChunkAt, &q.FirstTokenAt, &q.LastTokenAt, &q.DoneAt} {
		if *at != nil {
			t := (*at).Add(d)
			*at = &t
		}
	}
}

// ShardDirs are the folders of the shards of the cell in dir, in order of their index; none
// where the cell is whole.
func ShardDirs(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "shard-*-of-*"))
	if err != nil {
		return nil, fmt.Errorf("shards of %s: %w", dir, err)
	}
	index := func(path string) (i int) {
		fmt.Sscanf(filepath.Base(path), "shard-%d-of-", &i)
		return i
	}
	slices.SortFunc(found, func(a, b string) int { return index(a) - index(b) })
	return found, nil
}
