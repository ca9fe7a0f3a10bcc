//go:build kube

package kube

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bgbench/pkg/analysis"
	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// TestEveryArmIsRenderedComesUpIsVerifiedLoadedCollectedAndGoes takes all arms of the
// catalogue through a cell's whole life. BG_TEST_ARMS names others.
func TestEveryArmIsRenderedComesUpIsVerifiedLoadedCollectedAndGoes(t *testing.T) {
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
	var table strings.Builder
	lines := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "arm\tobjects\tup and verified\tloaded\tgone\tinteractive requests\tbatch lines")
	var mu sync.Mutex
	t.Run("arms", func(t *testing.T) {
		for _, arm := range names {
			t.Run(arm, func(t *testing.T) {
				t.Parallel()
				line := live(t, arm)
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintln(lines, line)
			})
		}
	})
	lines.Flush()
	t.Log("\n" + table.String())
}

// live takes an arm through the life of a cell and says when since its start what was done.
func live(t *testing.T, arm string) (line string) {
	t.Helper()
	a := asked{namespace: namespaceOf("cell", arm, 1)}
	if strings.HasPrefix(arm, "e-") {
		a.sets = []string{"async.resume=false"} // no release resumes a stream
	}
	root, c := admin(t), account(t)
	cell := cellFor(t, arm, a)
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 10*time.Minute)
	start := time.Now()
	since := func() string { return time.Since(start).Round(time.Second).String() }

	objects := rendered(t, ctx, cell)
	stack, err := c.Start(ctx, cell, talk{t}) // up and verify
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		found, err := root.get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			t.Fatal(err)
		}
		if found == nil || found.GetLabels()[LabelRun] != stack.RunID || found.GetLabels()[LabelManagedBy] != managedBy {
			t.Errorf("render says %s: found %v, expected it with the labels of run %s", title(o), found, stack.RunID)
		}
	}
	up := since()
	interactive, batch := checkCell(t, cell, stack, play(t, ctx, c, cell, stack, playing{}))
	loaded := since()
	if err := c.Down(ctx, cell.Namespace, stack.RunID, talk{t}); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		found, err := root.get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			t.Fatal(err)
		}
		if found != nil {
			t.Errorf("%s is there still", title(o))
		}
	}
	return strings.Join([]string{arm, fmt.Sprint(len(objects)), up, loaded, since(), interactive, batch}, "\t")
}

// rendered are the objects that render prints.
func rendered(t *testing.T, ctx context.Context, cell Cell) []*unstructured.Unstructured {
	t.Helper()
	var page bytes.Buffer
	if err := cell.Render(ctx, &page, RenderOptions{Expand: true}); err != nil {
		t.Fatal(err)
	}
	objects, err := decodeObjects(page.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 || objects[0].GetKind() != kindNamespace.Kind {
		t.Fatalf("render prints %d objects, expected the namespace and more", len(objects))
	}
	return objects
}

// checkCell holds what was collected against what the cell had to do: all requests and
// lines are ok, every component counted them, nothing happened to the stack, and the
// analysis takes the cell. What depends on the machine, as the generator's lateness, and
// what a cell of some seconds need not reach, as a mechanism's effect, is not asked.
func checkCell(t *testing.T, cell Cell, stack deploy.Stack, out string) (interactive, batch string) {
	t.Helper()
	summary, err := analysis.ReadCell(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{
		"run not interrupted": true, "schedule sent": true, "stack undisturbed": true,
		"no context overflow": true, "errors not total": true,
	}
	hasBatch := cell.Plan.Arm.Dispatch != spec.DispatchNone
	if hasBatch {
		asked["every batch line has one result"] = true
	}
	for _, check := range summary.Checks {
		if asked[check.Name] && !check.OK {
			t.Errorf("%s: %s", check.Name, check.Evidence)
		}
		delete(asked, check.Name)
	}
	if len(asked) > 0 {
		t.Errorf("the analysis did not check: %v", slices.Sorted(maps.Keys(asked)))
	}
	checkVersions(t, cell, stack, summary)
	checkMetrics(t, stack, out)
	interactive = checkInteractive(t, out)
	if lines := summary.Batch.Lines; hasBatch {
		if lines.OK != 20 || lines.Submitted != 20 {
			t.Errorf("batch lines: found %+v, expected 20, all of them ok", lines)
		}
		batch = fmt.Sprintf("%d of %d", lines.OK, lines.Submitted)
	}
	if cell.hasGateway() {
		checkJob(t, out)
	}
	return interactive, batch
}

// checkVersions wants the cell's metadata to say of which stack it is, and what that was.
func checkVersions(t *testing.T, cell Cell, stack deploy.Stack, summary analysis.CellResult) {
	t.Helper()
	if summary.Arm != cell.Plan.Arm.Name || fmt.Sprint(nested(summary.Versions, "stack", "run_id")) != stack.RunID {
		t.Errorf("the cell is of %s, run %v, expected %s, run %s", summary.Arm, nested(summary.Versions, "stack", "run_id"), cell.Plan.Arm.Name, stack.RunID)
	}
	if len(stack.Kube.Images) == 0 || len(stack.Kube.References) != len(stack.Kube.Images) {
		t.Errorf("digests: found %v for %v", stack.Kube.Images, stack.Kube.References)
	}
	effective, _ := nested(summary.Versions, "stack", "kube", "effective").(map[string]any)
	for name := range stack.Kube.Effective {
		if effective[name] != stack.Kube.Effective[name] {
			t.Errorf("metadata: configuration of %s: found %v, expected what verify read back", name, effective[name])
		}
	}
	for _, versions := range []map[string]string{stack.Kube.Images, stack.Kube.Charts} {
		for name, version := range versions {
			if !strings.Contains(version, "sha256:") {
				t.Errorf("version of %s: found %q, expected a digest", name, version)
			}
		}
	}
}

// nested is the value at a path in decoded JSON.
func nested(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// checkInteractive wants all interactive requests to be ok.
func checkInteractive(t *testing.T, out string) string {
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
	return fmt.Sprintf("%d of %d", ok, all)
}

// checkJob wants the job to have completed.
func checkJob(t *testing.T, out string) {
	t.Helper()
	var last record.Job
	eachRow(t, filepath.Join(out, "jobs.parquet"), func(row record.Job) { last = row })
	if last.Status != "completed" || last.Completed != 20 {
		t.Errorf("the job ended %s with %d of 20", last.Status, last.Completed)
	}
}

// counters say of each kind of component that requests passed through it.
var counters = map[string]string{
	"vllm":      "vllm:request_success_total",
	"router":    "llm_d_epp_request_total",
	"processor": "batch_request_generation_tokens_total",
	"apiserver": "http_requests_total",
	"async":     "llm_d_async_async_successful_requests_total",
}

// checkMetrics wants samples of every page of the stack, and the components to have
// counted what they did.
func checkMetrics(t *testing.T, stack deploy.Stack, out string) {
	t.Helper()
	found, scraped := map[string]float64{}, map[string]bool{}
	eachRow(t, filepath.Join(out, "metrics.parquet"), func(row record.Sample) {
		kind, _, _ := strings.Cut(row.Source, "-")
		scraped[row.Source] = true
		if row.Metric == counters[kind] {
			found[kind] = max(found[kind], row.Value)
		}
	})
	for _, page := range stack.Metrics {
		kind, _, _ := strings.Cut(page.Source, "-")
		if !scraped[page.Source] || found[kind] == 0 {
			t.Errorf("metrics of %s: scraped %v, %s at most %g", page.Source, scraped[page.Source], counters[kind], found[kind])
		}
	}
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
