//go:build kube

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// armCell is a cell of a catalogue arm, and whether the test plays it.
type armCell struct {
	arm  string
	cell Cell
	load bool
}

// armCells are the arms of the catalogue. All of those of the batch gateway's and the
// holdback suite are played, and of the eviction suite the first of those that have the
// same objects: its others differ by the text of a configuration, which verify reads
// back. BG_TEST_ARMS names others.
func armCells(t *testing.T) []armCell {
	t.Helper()
	names := strings.Fields(os.Getenv("BG_TEST_ARMS"))
	if len(names) == 0 {
		entries, err := spec.Arms()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name)
		}
	}
	played := map[string]bool{}
	var cells []armCell
	for _, arm := range names {
		a := asked{namespace: namespaceOf("cell", arm, 1)}
		eviction := strings.HasPrefix(arm, "e-")
		if eviction {
			a.sets = []string{"async.resume=false"} // no release resumes a stream
		}
		cell := cellFor(t, arm, a)
		objects := objectsOf(t, cell)
		cells = append(cells, armCell{arm, cell, !eviction || !played[objects]})
		played[objects] = played[objects] || eviction
	}
	return cells
}

// objectsOf names the objects and charts of a cell.
func objectsOf(t *testing.T, cell Cell) string {
	t.Helper()
	steps, err := cell.Steps()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range steps {
		if s.Chart != nil {
			names = append(names, s.Name)
		}
		for _, o := range s.Objects {
			if o.GetKind() != kindNamespace.Kind {
				names = append(names, title(o))
			}
		}
	}
	return strings.ReplaceAll(strings.Join(names, " "), cell.Namespace+"/", "")
}

func TestEveryArmComesUpIsVerifiedAndGoesAgain(t *testing.T) {
	var table strings.Builder
	lines := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "arm\tup and verified\tloaded\tgone\tinteractive requests\tbatch lines")
	var mu sync.Mutex
	t.Run("arms", func(t *testing.T) {
		for _, a := range armCells(t) {
			t.Run(a.arm, func(t *testing.T) {
				t.Parallel()
				line := bringUpAndDown(t, a)
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintln(lines, line)
			})
		}
	})
	lines.Flush()
	t.Log("\n" + table.String())
}

// bringUpAndDown says when since the start of the cell what was done.
func bringUpAndDown(t *testing.T, a armCell) (line string) {
	t.Helper()
	c := account(t)
	tearDown(t, c, a.cell.Namespace)
	ctx := within(t, 10*time.Minute)
	start := time.Now()
	since := func() string { return time.Since(start).Round(time.Second).String() }
	stack, err := c.Start(ctx, a.cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	up, loaded, interactive, batch := since(), "", "", ""
	if a.load {
		out := play(t, ctx, c, a.cell, stack, playing{})
		interactive, batch = checkRows(t, a.cell, out)
		loaded = since()
	}
	if err := c.Down(ctx, a.cell.Namespace, stack.RunID, talk{t}); err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{a.arm, up, loaded, since(), interactive, batch}, "\t")
}

// checkRows looks for every request and every line of the job in what was collected.
func checkRows(t *testing.T, cell Cell, out string) (interactive, batch string) {
	t.Helper()
	ok, all := 0, 0
	eachRow(t, filepath.Join(out, "requests.parquet"), func(row record.Request) {
		if row.Class == record.ClassInteractive {
			all++
			if row.Status == record.StatusOK {
				ok++
			}
		}
	})
	if all < 10 || ok != all {
		t.Errorf("%d of %d interactive requests are ok", ok, all)
	}
	if _, err := os.Stat(filepath.Join(out, "metrics.parquet")); err != nil {
		t.Error(err)
	}
	interactive = fmt.Sprintf("%d of %d", ok, all)
	if !cell.hasGateway() {
		return interactive, ""
	}
	var last record.Job
	eachRow(t, filepath.Join(out, "jobs.parquet"), func(row record.Job) { last = row })
	if last.Status != "completed" || last.Completed != 20 {
		t.Errorf("the job ended %s with %d of 20", last.Status, last.Completed)
	}
	return interactive, fmt.Sprintf("%d of %d", last.Completed, last.Total)
}

func eachRow[T record.Row](t *testing.T, file string, do func(T)) {
	t.Helper()
	r, err := record.ReadFile[T](file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for row, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		do(row)
	}
}
