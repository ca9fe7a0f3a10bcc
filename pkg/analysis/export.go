package analysis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bgbench/pkg/interop"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// ReadDocument reads what there is at path in the form that pkg/interop exports: the
// folder of an experiment or of a cell, from whose rows come the metrics, with itl for
// the inter-token latency; a results.json; or a document that bg-analyze import wrote.
// file reads the file at path.
func ReadDocument(ctx context.Context, path string, itl interop.Definition, file func() (io.ReadCloser, error)) (interop.Document, error) {
	if about, err := os.Stat(path); err == nil && about.IsDir() {
		return readFolder(ctx, path, itl)
	}
	in, err := file()
	if err != nil {
		return interop.Document{}, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return interop.Document{}, fmt.Errorf("reading %s: %w", path, err)
	}
	var version struct {
		SchemaVersion string `json:"schema_version"`
	}
	if err := json.Unmarshal(data, &version); err == nil && version.SchemaVersion == interop.SchemaVersion {
		var d interop.Document
		if err := decode(data, path, &d); err != nil {
			return interop.Document{}, err
		}
		return d, nil
	}
	results, err := ReadResults(strings.NewReader(string(data)), path)
	if err != nil {
		return interop.Document{}, err
	}
	return results.Document(path), nil
}

// readFolder takes validity and jobs from the summary of each cell and the metrics from
// its rows, which give every percentile.
func readFolder(ctx context.Context, dir string, itl interop.Definition) (interop.Document, error) {
	var results Results
	if isCell(dir) {
		c, err := ReadCell(ctx, dir)
		if err != nil {
			return interop.Document{}, err
		}
		c.Dir = "."
		results.Cells, results.Warnings = []CellResult{c}, c.Warnings()
	} else {
		var err error
		if results, err = Compare(ctx, dir, ""); err != nil {
			return interop.Document{}, err
		}
	}
	var runs []interop.Run
	for _, c := range results.Cells {
		measured, err := interop.ReadCell(ctx, filepath.Join(dir, c.Dir), itl)
		if err != nil {
			return interop.Document{}, err
		}
		for _, run := range measured {
			run.Invalid, run.Jobs = c.whyInvalid(), c.interopJobs()
			runs = append(runs, run)
		}
	}
	return interop.NewDocument(runs, results.warningTexts()), nil
}

// isCell reports whether dir holds a cell, or the shards of one.
func isCell(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, metadataFile)); err == nil {
		return true
	}
	shards, err := record.ShardDirs(dir)
	return err == nil && len(shards) > 0
}

// Document is what the results say, a run for each phase and class of each cell. It has
// no other percentiles than they have.
func (r Results) Document(source string) interop.Document {
	var runs []interop.Run
	for _, c := range r.Cells {
		base := interop.Cell{
			Experiment: r.Experiment.Name, Trial: c.Trial, Target: r.Experiment.Target, Profile: r.Experiment.ProfileOf(c.Arm),
			Start: c.StartedAt, End: c.EndedAt, Arm: spec.Arm{Name: c.Arm},
		}
		for _, a := range r.Experiment.Arms {
			if a.Name == c.Arm {
				base.Arm = a
			}
		}
		if versions, ok := c.Versions["versions"].(map[string]any); ok {
			base.Version, _ = versions["bg-load"].(string)
		}
		for _, p := range c.Phases {
			cell := base
			cell.Phase, cell.Class = p.Phase, p.Class
			run := cell.Run(source)
			run.Invalid, run.Jobs = c.whyInvalid(), c.interopJobs()
			p.describe(&run)
			if v, ok := c.Batch.PerPhase[p.Phase]; ok && p.Class == record.ClassInteractive {
				run.Metrics = append(run.Metrics, interopRate(interop.BatchRequestsPhase, "requests_per_s_by_phase", "requests/s", v)...)
			}
			runs = append(runs, run)
		}
	}
	return interop.NewDocument(runs, r.warningTexts())
}

func (r Results) warningTexts() []string {
	var out []string
	for _, w := range r.Warnings {
		out = append(out, w.String())
	}
	return out
}

// whyInvalid is empty for a valid cell.
func (c CellResult) whyInvalid() string {
	if c.Valid {
		return ""
	}
	return cmp.Or(c.failures(), "the cell is not valid")
}

func (c CellResult) interopJobs() []interop.Job {
	var jobs []interop.Job
	for _, j := range c.Jobs {
		jobs = append(jobs, interop.Job{
			Job: j.Job, Status: j.Status, Total: j.Total, Completed: j.Completed, Failed: j.Failed,
			CompletionS: j.CompletionS.Value, WindowS: j.WindowS, Met: j.Met,
		})
	}
	return jobs
}

// describe puts the counts and numbers of a phase into run.
func (p PhaseSummary) describe(run *interop.Run) {
	ok := p.ByStatus[record.StatusOK]
	failed := p.Requests - ok - p.IncompleteRequests
	run.Requests = interop.Counts{Total: &p.Requests, OK: &ok, Failed: &failed, Incomplete: &p.IncompleteRequests}
	for status, n := range p.ByStatus {
		if status != record.StatusOK && status != record.StatusIncomplete {
			if run.Errors == nil {
				run.Errors = make(map[string]int)
			}
			run.Errors[status] = n
		}
	}
	for _, m := range []struct {
		definition interop.Definition
		called     string
		of         string
		counts     string
		d          Distribution
	}{
		{interop.TTFTFirstToken, MetricTTFT, interop.OfOK, "requests", p.TTFT},
		{interop.TTFTFromDue, MetricTTFTFromDue, interop.OfOK, "requests", p.TTFTFromDue},
		{interop.TTFTAdjusted, MetricTTFTAdjusted, interop.OfAll, "requests", p.TTFTAdjusted},
		{interop.ITLPerToken, MetricITL, interop.OfOK, "gaps", p.ITL},
		{interop.TPOTDecode, MetricTPOT, interop.OfOK, "requests", p.TPOT},
		{interop.E2EToDone, MetricE2E, interop.OfOK, "requests", p.E2E},
		{interop.E2EFromDue, "e2e_from_due", interop.OfOK, "requests", p.E2EFromDue},
		{interop.LatenessSend, "lateness", interop.OfAll, "requests", p.Lateness},
	} {
		if m.d.N > 0 {
			run.Metrics = append(run.Metrics, m.d.interop(m.definition, m.called, m.of, m.counts))
		}
	}
	for _, m := range []struct {
		definition   interop.Definition
		called, unit string
		value        Value
	}{
		{interop.RequestsOverPhase, MetricOKPerS, "requests/s", p.OKPerS},
		{interop.InputOverPhase, "prompt_tokens_per_s", "tokens/s", p.PromptTokensPerS},
		{interop.OutputOverPhase, MetricOutputTokens, "tokens/s", p.OutputTokensPerS},
		{interop.ErrorRateOfPhase, MetricErrorRate, "ratio", p.ErrorRate},
	} {
		run.Metrics = append(run.Metrics, interopRate(m.definition, m.called, m.unit, m.value)...)
	}
}

func (d Distribution) interop(definition interop.Definition, called, of, counts string) interop.Metric {
	n := d.N
	m := interop.Metric{
		Name: definition.Family(), Definition: definition, Called: called, Of: of, From: interop.FromFile, Unit: d.Unit,
		N: &n, Counts: counts, Quantiles: interop.QuantilesType7, Mean: d.Mean.Value, Max: d.Max.Value,
		Percentiles: map[string]float64{}, Reasons: map[string]string{},
	}
	for name, v := range map[string]Value{"p50": d.P50, "p90": d.P90, "p95": d.P95, "p99": d.P99} {
		if v.Value != nil {
			m.Percentiles[name] = *v.Value
		} else {
			m.Reasons[name] = cmp.Or(v.Reason, "not in the results")
		}
	}
	return m
}

// interopRate is nothing for a value that there is not.
func interopRate(definition interop.Definition, called, unit string, v Value) []interop.Metric {
	if v.Value == nil {
		return nil
	}
	return []interop.Metric{{
		Name: definition.Family(), Definition: definition, Called: called, Of: interop.OfOK, From: interop.FromFile,
		Unit: unit, Mean: v.Value,
	}}
}
