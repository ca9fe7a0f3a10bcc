package conform

import (
	"slices"
	"strings"
)

// orders is order.json: what was seen of queue, workers, plan and semaphores.
type orders struct {
	JobsOrder     []jobsOrder     `json:"jobs_order"`
	Concurrency   []concurrency   `json:"concurrency"`
	WithinJob     []withinJob     `json:"within_job"`
	WorkerRelease []workerRelease `json:"worker_release"`
	ConfigChecks  []configCheck   `json:"config_checks"`
	ModelOrder    *modelOrder     `json:"model_order"`
	LineURL       []lineURL       `json:"line_url_decides"`
	Progress      *progress       `json:"progress_updates"`
	SlotHeld      *slotHeld       `json:"slot_held_during_backoff"`
}

var orderSections = []string{
	"jobs_order", "concurrency", "within_job", "worker_release", "config_checks",
	"model_order", "line_url_decides", "progress_updates", "slot_held_during_backoff",
}

func orderCases(d document) ([]Case, error) {
	var o orders
	if err := d.decode(&o); err != nil {
		return nil, err
	}
	b := caseBuilder{d: d}
	for i, c := range o.JobsOrder {
		b.add("jobs_order", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.Concurrency {
		b.add("concurrency", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.WithinJob {
		b.add("within_job", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.WorkerRelease {
		b.add("worker_release", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.ConfigChecks {
		b.add("config_checks", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.LineURL {
		b.add("line_url_decides", i, strings.Trim(c.LineURL, "/"), c.check, c.replay)
	}
	if o.ModelOrder != nil {
		b.add("model_order", -1, "first_model", o.ModelOrder.check, o.ModelOrder.replay)
	}
	if o.Progress != nil {
		b.add("progress_updates", -1, "changes", o.Progress.check, o.Progress.replay)
	}
	if o.SlotHeld != nil {
		b.add("slot_held_during_backoff", -1, "attempts", o.SlotHeld.check, o.SlotHeld.replay)
	}
	return b.cases, b.err
}

// caseBuilder collects the cases of a file and the first error in one.
type caseBuilder struct {
	d     document
	cases []Case
	err   error
}

// place is a document and the path of a case in it.
type place struct {
	document
	path []any
}

func (p place) fault(step any, format string, args ...any) error {
	return p.document.fault(append(slices.Clone(p.path), step), format, args...)
}

func (b *caseBuilder) add(section string, i int, name string, check func(place) error, replay func(*outcome)) {
	p := place{b.d, []any{section}}
	if i >= 0 {
		p.path = append(p.path, i)
	}
	if b.err != nil {
		return
	}
	if name == "" {
		b.err = p.fault("name", "found none, expected the name of the case")
		return
	}
	if b.err = check(p); b.err == nil {
		b.cases = append(b.cases, Case{Name: "order/" + section + "/" + name, File: b.d.file, replay: replay})
	}
}
