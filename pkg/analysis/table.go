package analysis

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes a cell for the eyes. What has no value shows as a dash, and the
// reason for the first such percentile of each row follows the table.
func WriteTable(w io.Writer, c CellResult) error {
	validity := "VALID"
	if !c.Valid {
		validity = "INVALID"
	}
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintf(t, "%s t%d: %s, seed %d, %s clock\n\n", c.Arm, c.Trial, validity, c.Seed, c.Clock)

	t.row("CHECK", "", "EVIDENCE")
	for _, check := range c.Checks {
		word := "ok"
		if !check.OK {
			word = "FAILED"
		}
		t.row(check.Name, word, check.Evidence)
	}

	t.section("PHASE", "CLASS", "REQUESTS", "OK/S", "ERRORS", "TTFT p50", "p95", "p99", "ITL p50", "p95", "E2E p50", "p95")
	for _, p := range c.Phases {
		t.row(p.Phase, p.Class, fmt.Sprint(p.Requests), number(p.OKPerS), share(p.ErrorRate),
			duration(p.TTFT.P50), duration(p.TTFT.P95), duration(p.TTFT.P99),
			duration(p.ITL.P50), duration(p.ITL.P95), duration(p.E2E.P50), duration(p.E2E.P95))
	}

	if len(c.Jobs) > 0 {
		t.section("JOB", "STATUS", "COMPLETED", "FAILED", "TOOK", "WINDOW", "MET")
		for _, j := range c.Jobs {
			t.row(j.Job, j.Status, fmt.Sprintf("%d/%d", j.Completed, j.Total), fmt.Sprint(j.Failed),
				duration(j.CompletionS), fmt.Sprintf("%gs", j.WindowS), yes(j.Met))
		}
		t.section("BATCH", "REQUESTS/S")
		t.row("burst", number(c.Batch.BurstPerS))
		t.row("idle", number(c.Batch.IdlePerS))
	}
	t.agreement(c.Agreement)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, notes(c))
	return err
}

type table struct{ *tabwriter.Writer }

func (t table) row(columns ...string) { fmt.Fprintln(t, strings.Join(columns, "\t")) }

func (t table) section(columns ...string) {
	fmt.Fprintln(t)
	t.row(columns...)
}

// agreement is the cross-check of the clients' TTFT against the servers'.
func (t table) agreement(a TTFTAgreement) {
	if a.Servers.Value == nil {
		return // without the servers' histogram there is nothing to check against
	}
	t.section("TTFT OF", "CLIENTS", "SERVERS", "APART")
	t.row("requests", fmt.Sprintf("%.0f", *a.Clients.Value), fmt.Sprintf("%.0f", *a.Servers.Value))
	t.row("mean", noValue, noValue, duration(a.MeanDifferenceS))
	for _, q := range a.Quantiles {
		to := duration(q.ServerHighS)
		if q.ServerHighS.Value == nil {
			to = "no bound"
		}
		t.row(fmt.Sprintf("p%g", 100*q.P), duration(q.ClientS), duration(q.ServerLowS)+" to "+to, duration(q.DifferenceS))
	}
}

// notes explains the dashes.
func notes(c CellResult) string {
	var b strings.Builder
	note := func(where string, v Value) {
		if v.Value == nil {
			fmt.Fprintf(&b, "\n%s: %s", where, v.Reason)
		}
	}
	for _, p := range c.Phases {
		for _, v := range []Value{p.TTFT.P50, p.TTFT.P95, p.TTFT.P99} {
			if v.Value == nil {
				note(p.Phase+" "+p.Class, v)
				break
			}
		}
	}
	if c.Agreement.Servers.Value != nil {
		note("TTFT of clients and servers", c.Agreement.MeanDifferenceS)
	}
	for _, j := range c.Jobs {
		note("job "+j.Job, j.CompletionS)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

const noValue = "-"

func number(v Value) string {
	if v.Value == nil {
		return noValue
	}
	return fmt.Sprintf("%.3g", *v.Value)
}

func share(v Value) string {
	if v.Value == nil {
		return noValue
	}
	return fmt.Sprintf("%.1f%%", 100**v.Value)
}

// duration in milliseconds below a second, in seconds above.
func duration(v Value) string {
	switch {
	case v.Value == nil:
		return noValue
	case *v.Value < 1:
		return fmt.Sprintf("%.1fms", *v.Value*1e3)
	}
	return fmt.Sprintf("%.2fs", *v.Value)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
