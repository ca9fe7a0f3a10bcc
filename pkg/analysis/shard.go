package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bgbench/pkg/record"
)

// shardClockLimitS is how far apart the clocks of shards may be: a shard that begins
// later plays its requests later, as if they had been late.
const shardClockLimitS = 0.1

// shard is one part of a cell that several load generators played.
type shard struct {
	dir  string
	meta record.Metadata
	// shift brings an instant of the shard's clock to that of the first one.
	shift time.Duration
}

// readShards returns the shards in the folder of a cell, none where it is whole.
func readShards(dir string) ([]shard, error) {
	if _, err := os.Stat(filepath.Join(dir, metadataFile)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found, err := record.ShardDirs(dir)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var shards []shard
	for i := 1; len(shards) == 0 || i <= shards[0].meta.Shard.Count; i++ {
		s, err := readShard(dir, i, found)
		if err != nil {
			return nil, err
		}
		shards = append(shards, s)
		first := shards[0].meta
		if err := s.belongs(first); err != nil {
			return nil, err
		}
		shards[i-1].shift = s.meta.Shard.Behind(*first.Shard)
	}
	if len(found) != len(shards) {
		return nil, fmt.Errorf("%s: found %d folders of shards, expected %d", dir, len(found), len(shards))
	}
	return shards, nil
}

// readShard reads what the i-th shard says of itself. Its folder is named after how
// many there are.
func readShard(dir string, i int, found []string) (shard, error) {
	prefix := fmt.Sprintf("shard-%d-of-", i)
	for _, path := range found {
		if !strings.HasPrefix(filepath.Base(path), prefix) {
			continue
		}
		s := shard{dir: path}
		text, err := os.ReadFile(filepath.Join(path, metadataFile))
		if err != nil {
			return s, whole(path, metadataFile, err)
		}
		if err := decode(text, filepath.Join(path, metadataFile), &s.meta); err != nil {
			return s, err
		}
		if m := s.meta.Shard; m == nil || m.Index != i || filepath.Base(path) != record.ShardDir(m.Index, m.Count) {
			return s, fmt.Errorf("%s: shard: found %+v, expected the shard that the folder is named after", filepath.Join(path, metadataFile), m)
		}
		return s, nil
	}
	return shard{}, fmt.Errorf("%s: found no folder of shard %d", dir, i)
}

// belongs checks that the shard played the same cell as the first one.
func (s shard) belongs(first record.Metadata) error {
	m := s.meta
	a := identity{first.Experiment, first.Arm, int32(first.Trial)}
	b := identity{m.Experiment, m.Arm, int32(m.Trial)}
	switch {
	case a != b:
		return fmt.Errorf("%s: found %v, expected %v as in shard 1", s.dir, b, a)
	case m.Shard.Count != first.Shard.Count || !m.Shard.StartAt.Equal(first.Shard.StartAt):
		return fmt.Errorf("%s: found shard %d of %d from %s on, expected one of %d from %s on as in shard 1", s.dir,
			m.Shard.Index, m.Shard.Count, m.Shard.StartAt.Format(time.RFC3339), first.Shard.Count, first.Shard.StartAt.Format(time.RFC3339))
	}
	for name, sum := range first.Inputs {
		if m.Inputs[name] != sum {
			return fmt.Errorf("%s: found other inputs than those of shard 1: %s differs", s.dir, name)
		}
	}
	return nil
}

// readSharded reads the rows of all shards into r and returns their metadata as one.
func readSharded(ctx context.Context, shards []shard, r *rows) ([]byte, error) {
	r.declare(shards[0].meta.Profile.SLO)
	for _, s := range shards {
		add := func(q *record.Request) error {
			q.Shift(s.shift)
			return r.addRequest(q)
		}
		if err := readRequests(ctx, s.dir, add); err != nil {
			return nil, err
		}
		if err := readJobs(ctx, s.dir, r); err != nil {
			return nil, err
		}
	}
	return json.Marshal(mergeMetadata(shards))
}

// mergeMetadata is that of the first shard with what the others add.
func mergeMetadata(shards []shard) record.Metadata {
	m := shards[0].meta
	m.Warnings = nil
	m.Load = record.LoadHealth{Outages: []record.Outage{}}
	for _, s := range shards {
		o := s.meta
		m.Interrupted = m.Interrupted || o.Interrupted
		if end := o.EndedAt.Add(s.shift); end.After(m.EndedAt) {
			m.EndedAt = end
		}
		for _, w := range o.Warnings {
			m.Warnings = append(m.Warnings, fmt.Sprintf("shard %d: %s", o.Shard.Index, w))
		}
		m.Load.Due += o.Load.Due
		m.Load.Sent += o.Load.Sent
		m.Load.CPUSeconds += o.Load.CPUSeconds
		m.Load.WallSeconds = max(m.Load.WallSeconds, o.Load.WallSeconds)
		// Of percentiles the worst: those of all rows are computed from the rows.
		m.Load.LatenessP50S = max(m.Load.LatenessP50S, o.Load.LatenessP50S)
		m.Load.LatenessP99S = max(m.Load.LatenessP99S, o.Load.LatenessP99S)
		m.Load.LatenessMaxS = max(m.Load.LatenessMaxS, o.Load.LatenessMaxS)
		if a := o.Load.AchievedOffered; a != nil && (m.Load.AchievedOffered == nil || *a < *m.Load.AchievedOffered) {
			m.Load.AchievedOffered = a
		}
		m.Load.Outages = append(m.Load.Outages, o.Load.Outages...)
		m.Load.OutagesMore += o.Load.OutagesMore
	}
	return m
}

// checkShards holds the clocks of the shards against each other.
func checkShards(shards []shard) Check {
	const name = "shards began together"
	low, high, unsure := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range shards {
		clock := s.meta.Shard.Clock
		if clock == nil {
			return check(name, false, "shard %d could not measure its clock: the stack tells no time", s.meta.Shard.Index)
		}
		low, high = min(low, clock.OffsetS), max(high, clock.OffsetS)
		unsure = max(unsure, clock.UncertaintyS)
	}
	return check(name, high-low <= shardClockLimitS, "the clocks of %d shards are up to %.0f ms apart, give or take %.0f ms, limit %.0f ms",
		len(shards), 1e3*(high-low), 1e3*unsure, 1e3*shardClockLimitS)
}
