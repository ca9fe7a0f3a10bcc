package analysis

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/interop"
	"bgbench/pkg/record"
)

// split makes n shards of a cell. The clock of the k-th is k-1 times ahead behind that
// of the server, and so are its rows. change may spoil a shard.
func split(t *testing.T, c analysistest.Cell, n int, behind time.Duration, change func(k int, s *analysistest.Cell)) string {
	t.Helper()
	dir := t.TempDir()
	for k := 1; k <= n; k++ {
		s := c
		due := 0
		off := time.Duration(k-1) * behind
		s.Requests, s.Jobs, s.Samples = nil, nil, nil
		for i, q := range c.Requests {
			if q.DueAt == nil || i%n != k-1 {
				if q.DueAt == nil && k == 1 {
					s.Requests = append(s.Requests, q)
				}
				continue
			}
			due++
			q.Shift(-off)
			s.Requests = append(s.Requests, q)
		}
		if k == 1 {
			s.Jobs = c.Jobs
		}
		s.Metadata.EndedAt = s.Metadata.EndedAt.Add(-off)
		s.Metadata.Load = record.LoadHealth{Due: due, Sent: due}
		s.Metadata.Shard = &record.Shard{
			Index: k, Count: n, StartAt: analysistest.Start,
			Clock: &record.ClockOffset{Reference: "http://gateway", OffsetS: 3 + off.Seconds(), UncertaintyS: 0.01},
		}
		if change != nil {
			change(k, &s)
		}
		if err := s.Write(filepath.Join(dir, record.ShardDir(k, n))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestShardsAreTheCellThatTheyArePartsOf(t *testing.T) {
	c := analysistest.New(analysistest.S2, 1)
	c.Samples = nil
	whole := t.TempDir()
	if err := c.Write(whole); err != nil {
		t.Fatal(err)
	}
	want, err := ReadCell(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, behind := range []time.Duration{0, 40 * time.Millisecond} {
		got, err := ReadCell(t.Context(), split(t, c, 3, behind, nil))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Phases, want.Phases) || !reflect.DeepEqual(got.Jobs, want.Jobs) || !reflect.DeepEqual(got.Batch, want.Batch) || !reflect.DeepEqual(got.Curves, want.Curves) {
			t.Errorf("%s behind: found another summary than that of the whole cell", behind)
		}
		if !got.EndedAt.Equal(want.EndedAt) || got.Valid != want.Valid {
			t.Errorf("%s behind: ended at %s, checks %+v, expected %+v", behind, got.EndedAt, got.Checks, want.Checks)
		}
		evidence := fmt.Sprintf("the clocks of 3 shards are up to %d ms apart, give or take 10 ms, limit 100 ms", 2*behind.Milliseconds())
		if !strings.Contains(fmt.Sprint(got.Checks), evidence) {
			t.Errorf("found checks %v, expected %s", got.Checks, evidence)
		}
	}
}

func TestShardsThatAreNoCell(t *testing.T) {
	c := analysistest.New(analysistest.S0, 1)
	for name, test := range map[string]struct {
		change func(k int, s *analysistest.Cell)
		want   string
	}{
		"another trial": {func(k int, s *analysistest.Cell) {
			if k == 2 {
				s.Metadata.Trial = 9
			}
		}, "expected"},
		"other inputs": {func(k int, s *analysistest.Cell) {
			if k == 2 {
				s.Metadata.Inputs = map[string]string{"schedule.jsonl": "0"}
			}
		}, "found other inputs than those of shard 1: schedule.jsonl differs"},
		"another start": {func(k int, s *analysistest.Cell) {
			if k == 2 {
				s.Metadata.Shard.StartAt = s.Metadata.Shard.StartAt.Add(time.Minute)
			}
		}, "found shard 2 of 2 from 2026-03-01T12:01:00Z on, expected one of 2 from 2026-03-01T12:00:00Z on as in shard 1"},
		"a folder with another name": {func(k int, s *analysistest.Cell) {
			if k == 2 {
				s.Metadata.Shard.Index = 1
			}
		}, "expected the shard that the folder is named after"},
	} {
		_, err := ReadCell(t.Context(), split(t, c, 2, 0, test.change))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: found %v, expected %s", name, err, test.want)
		}
	}
}

func TestAShardThatIsMissingIsNamed(t *testing.T) {
	c := analysistest.New(analysistest.S0, 1)
	dir := t.TempDir()
	c.Metadata.Shard = &record.Shard{Index: 1, Count: 2, StartAt: analysistest.Start}
	if err := c.Write(filepath.Join(dir, record.ShardDir(1, 2))); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCell(t.Context(), dir); err == nil || err.Error() != dir+": found no folder of shard 2" {
		t.Errorf("found %v", err)
	}
}

func TestShardsOfUnknownOrDistantClocksAreInvalid(t *testing.T) {
	c := analysistest.New(analysistest.S0, 1)
	far, err := ReadCell(t.Context(), split(t, c, 3, 60*time.Millisecond, nil))
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := ReadCell(t.Context(), split(t, c, 2, 0, func(k int, s *analysistest.Cell) {
		if k == 2 {
			s.Metadata.Shard.Clock = nil
			s.Metadata.Warnings = []string{"something"}
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if far.Valid || unknown.Valid {
		t.Errorf("found valid %v and %v, expected neither", far.Valid, unknown.Valid)
	}
	if !strings.Contains(fmt.Sprint(unknown.Checks), "shard 2 could not measure its clock") || !reflect.DeepEqual(unknown.LoadWarnings, []string{"shard 2: something"}) {
		t.Errorf("found %v and warnings %q", unknown.Checks, unknown.LoadWarnings)
	}
}

func TestShardsAreExportedAsTheCellThatTheyArePartsOf(t *testing.T) {
	c := analysistest.New(analysistest.S0, 1)
	whole := t.TempDir()
	if err := c.Write(whole); err != nil {
		t.Fatal(err)
	}
	document := func(dir string) interop.Document {
		d, err := ReadDocument(t.Context(), dir, interop.ITLPerToken, nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want, got := document(whole), document(split(t, c, 3, time.Second/50, nil))
	if len(got.Runs) != len(want.Runs) || len(got.Runs) == 0 {
		t.Fatalf("%d runs, expected %d", len(got.Runs), len(want.Runs))
	}
	for i := range want.Runs {
		if diff := cmp.Diff(want.Runs[i].Metrics, got.Runs[i].Metrics); diff != "" {
			t.Errorf("run %s: %s", want.Runs[i].Name, diff)
		}
		if !got.Runs[i].EndedAt.Equal(*want.Runs[i].EndedAt) {
			t.Errorf("run %s ended at %v, expected %v", want.Runs[i].Name, got.Runs[i].EndedAt, want.Runs[i].EndedAt)
		}
	}
}
