package record

import (
	"fmt"
	"time"
)

// MaxShards bounds how many load generators play one cell.
const MaxShards = 1000

// ShardDir is the name of a shard's folder in that of its cell; index counts from 1.
func ShardDir(index, count int) string { return fmt.Sprintf("shard-%d-of-%d", index, count) }

// Shard says in a run's metadata which part of a cell it was.
type Shard struct {
	Index   int       `json:"index"` // 1-based
	Count   int       `json:"count"`
	StartAt time.Time `json:"start_at"` // when all shards were to begin
	// Clock is null where the stack tells no time.
	Clock *ClockOffset `json:"clock"`
}

// ClockOffset is how far the clock of a server was ahead of that of a machine.
type ClockOffset struct {
	Reference    string  `json:"reference"` // address of the server
	OffsetS      float64 `json:"offset_s"`
	UncertaintyS float64 `json:"uncertainty_s"` // either way
}
