package load

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

func TestShardsShareTheScheduleOut(t *testing.T) {
	lines := dues(0, 1, 2, 3, 4, 5, 6)
	for i := range 6 {
		lines = append(lines, inputs.Due{I: 7 + i, DueNS: 7e9, Phase: "idle", Class: record.ClassInteractive, InFlight: 5})
	}
	set := testSet(t, lines)
	seen := map[int]int{}
	var inFlight []int
	for i := 1; i <= 3; i++ {
		part := (Shard{Index: i, Count: 3}).of(set)
		last := -1
		loop := 0
		for _, line := range part.Schedule {
			seen[line.I]++
			if line.I <= last || line.Prompt != set.Schedule[line.I].Prompt || line.DueNS != set.Schedule[line.I].DueNS {
				t.Errorf("shard %d: found %+v after line %d", i, line, last)
			}
			last, loop = line.I, line.InFlight
		}
		inFlight = append(inFlight, loop)
	}
	if len(seen) != len(lines) || inFlight[0]+inFlight[1]+inFlight[2] != 5 || inFlight[0] != 2 {
		t.Errorf("found %d of %d lines, and %v in flight, expected 5 in all", len(seen), len(lines), inFlight)
	}
	for i, n := range seen {
		if n != 1 {
			t.Errorf("line %d is in %d shards", i, n)
		}
	}
	if (Shard{Index: 9, Count: 9}).share(5) != 0 || (Shard{}).of(set) != set {
		t.Error("a loop of 5 has nothing for a ninth shard, and a whole cell is left alone")
	}
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("2/3"); err != nil || s.Index != 2 || s.Count != 3 {
		t.Errorf("found %+v, %v", s, err)
	}
	for _, text := range []string{"", "2", "0/3", "4/3", "1/1001", "a/3", "1/b", "-1/3"} {
		if _, err := ParseShard(text); err == nil || err.Error() != `found "`+text+`", expected I/N such as 2/3, with N up to 1000` {
			t.Errorf("%q: found %v", text, err)
		}
	}
}

// Two shards of a run against one server begin together, send each request once, and
// leave batch work to the first.
func TestShardsPlayOneCell(t *testing.T) {
	server, err := newSelfServer()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	start := time.Now().Add(2 * time.Second)
	dir := t.TempDir()
	id := Identity{Experiment: "unit", Arm: "s1", Trial: 1, Seed: 7}
	set := testSet(t, dues(0, 0.02, 0.04, 0.06, 0.08), 3)
	set.Manifest.Profile.Interactive.Phases = []spec.Phase{{Name: "burst", Duration: spec.Duration(100 * time.Millisecond)}}
	set.Manifest.Profile.Batch.Lead = spec.Duration(50 * time.Millisecond)
	arm := spec.Arm{Name: "s1", Dispatch: spec.DispatchBacklog, Backlog: spec.Backlog{Concurrency: 2}}
	work, err := ReadWork(set, arm)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for i := 1; i <= 2; i++ {
		s := Shard{Index: i, Count: 2, StartAt: start}
		cell, err := CreateCell(s.Dir(dir), id, false)
		if err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			if err := Run(t.Context(), Options{
				Stack:     deploy.Stack{Target: spec.TargetLocal, Experiment: "unit", InferenceURL: server.URL, Model: "m", Arm: arm},
				StackJSON: []byte("{}"), Inputs: set, Work: work, Output: cell, Shard: s,
				Connection: Connection{Header: http.Header{selfTokensHeader: {"2"}, selfGapHeader: {"1ms"}}},
			}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	seen := map[string]int{}
	for i := 1; i <= 2; i++ {
		of := filepath.Join(dir, record.ShardDir(i, 2))
		meta := readMetadata(t, of)
		if meta.Shard == nil || meta.Shard.Index != i || meta.Shard.Clock == nil || meta.Shard.Clock.UncertaintyS > 0.5 {
			t.Fatalf("shard %d: found %+v", i, meta.Shard)
		}
		if offset := meta.Shard.Clock.OffsetS; offset < -meta.Shard.Clock.UncertaintyS-0.1 || offset > meta.Shard.Clock.UncertaintyS+0.1 {
			t.Errorf("shard %d is %g s (± %g) off the clock of its own machine", i, offset, meta.Shard.Clock.UncertaintyS)
		}
		if since := meta.ScheduleStartedAt.Sub(start); since < 49*time.Millisecond || since > 51*time.Millisecond {
			t.Errorf("shard %d: schedule time 0 is %s after the start, expected the lead, with batch work or without", i, since)
		}
		rows, err := record.ReadFile[record.Request](filepath.Join(of, RequestsFile))
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range rows.All() {
			if err != nil {
				t.Fatal(err)
			}
			seen[row.RequestID]++
			if row.Class == record.ClassBatchEquivalent && i != 1 {
				t.Errorf("shard %d sent batch work", i)
			}
		}
		rows.Close()
	}
	if len(seen) != 8 {
		t.Errorf("found requests %v, expected 5 of the schedule and 3 of the job", seen)
	}
}

func readMetadata(t *testing.T, cell string) (meta record.Metadata) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cell, MetadataFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		t.Fatal(err)
	}
	return meta
}

func TestAServerWithoutAClockHasNoOffset(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		io.WriteString(w, "ok")
	}))
	defer server.Close()
	if got := clockOffset(t.Context(), opened(t, Connection{}, server.URL, "").batch, server.URL); got != nil {
		t.Errorf("found %+v", got)
	}
}
