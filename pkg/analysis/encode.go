package analysis

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// WriteJSON writes v, a Results or a CellResult, as one line of JSON. The same
// value gives the same bytes. encoding/json refuses a number that is not finite,
// so none can slip through.
func WriteJSON(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding results: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// SummaryRow is a row of summary.parquet: one number of one cell. Columns that do
// not apply are null.
type SummaryRow struct {
	Experiment string   `parquet:"experiment,dict"` // which cell, as the next two
	Arm        string   `parquet:"arm,dict"`        // its name
	Trial      int32    `parquet:"trial"`           // counted from 1
	Valid      bool     `parquet:"valid"`           // whether every check of the cell held
	Phase      *string  `parquet:"phase,dict"`      // null for what is over all phases, and for jobs
	Class      string   `parquet:"class,dict"`      // interactive, batch, batch-equivalent or standard
	Job        *string  `parquet:"job,dict"`        // null for what is no job's
	Metric     string   `parquet:"metric,dict"`     // as in the keys of arms[].metrics
	Stat       string   `parquet:"stat,dict"`       // p50, mean, value, …
	Unit       string   `parquet:"unit,dict"`       // s, ratio, tokens, …
	Value      *float64 `parquet:"value"`           // null where there is none
	N          int64    `parquet:"n"`               // rows that it is computed from
	Reason     *string  `parquet:"reason,dict"`     // why there is no value
}

// WriteSummary writes summary.parquet: the numbers of every cell, invalid ones
// included and marked, by arm, trial, phase, class, metric and stat.
func WriteSummary(w io.Writer, r Results) error {
	out := parquet.NewGenericWriter[SummaryRow](w,
		parquet.NewSchema("bg_summary", parquet.SchemaOf(SummaryRow{})),
		parquet.Compression(&parquet.Zstd))
	for _, c := range r.Cells {
		if _, err := out.Write(summaryRows(r.Experiment.Name, c)); err != nil {
			return fmt.Errorf("writing summary: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing summary: %w", err)
	}
	return nil
}

func summaryRows(experiment string, c CellResult) []SummaryRow {
	var rows []SummaryRow
	add := func(phase, job *string, class, metric, stat, unit string, v Value) {
		row := SummaryRow{
			Experiment: experiment, Arm: c.Arm, Trial: int32(c.Trial), Valid: c.Valid,
			Phase: phase, Class: class, Job: job, Metric: metric, Stat: stat, Unit: unit,
			Value: v.Value, N: int64(v.N),
		}
		if v.Reason != "" {
			row.Reason = &v.Reason
		}
		rows = append(rows, row)
	}
	for _, m := range measures(c) {
		if m.metric == MetricCompletion {
			continue // its rows follow, under their jobs
		}
		add(&m.phase, nil, m.class, m.metric, m.stat, m.unit, m.value)
	}
	for _, j := range c.Jobs {
		add(nil, &j.Job, "batch", MetricCompletion, StatValue, "s", j.CompletionS)
	}
	return rows
}
