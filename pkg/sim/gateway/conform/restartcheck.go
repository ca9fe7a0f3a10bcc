package conform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/openai"
	"bgbench/pkg/spec"
)

// compareBackend compares what the backend had seen at the signal.
func (rec *restart) compareBackend(r *rig, e restartEvent) {
	done := 0
	for _, row := range r.backend.Log {
		if row.Done > 0 && row.Done <= r.k.Now() {
			done++
		}
	}
	if e.data.Arrived != nil {
		r.want("requests at the signal", len(r.backend.Log), *e.data.Arrived)
	}
	if e.data.Done != nil {
		r.want("answers at the signal", done, *e.data.Done)
	}
}

// compareLeft compares what the end of the process has left behind.
func (rec *restart) compareLeft(r *rig, e restartEvent) {
	if e.data.Batch != nil {
		got, want := r.job(0), *e.data.Batch
		if rec.Signal == spec.SignalKill { // of the last push before it
			got.RequestCounts, want.RequestCounts = openai.RequestCounts{}, openai.RequestCounts{}
		}
		r.compareRestarted("batch after the end", got, want)
	}
	if e.data.Arrived != nil {
		r.want("requests after the end", len(r.backend.Log), *e.data.Arrived)
	}
	gone := 0
	for _, row := range r.backend.Log {
		if row.Answer == "client_gone" {
			gone++
		}
	}
	// An answer that is being written when the client goes may end well.
	if e.data.Gone != nil && rec.size == 0 {
		r.want("requests cut off", gone, *e.data.Gone)
	}
	output, errors := r.g.WorkDir(r.jobs[0])
	for _, file := range e.data.WorkDir {
		name, _ := file[0].(string)
		size, _ := file[1].(float64)
		switch name {
		case "output.jsonl":
			r.want("bytes of output.jsonl", len(output), int(size))
		case "error.jsonl":
			r.want("bytes of error.jsonl", len(errors), int(size))
		}
	}
}

// compareRestarted compares two objects of which the recording keeps the fields that
// change.
func (o *outcome) compareRestarted(what string, got, want openai.Batch) {
	want.ID, want.Object, want.Endpoint, want.InputFileID, want.CompletionWindow = got.ID, got.Object, got.Endpoint, got.InputFileID, got.CompletionWindow
	o.compareObjects(what, got, want)
}

// compareEnd compares the end of the job and what it took.
func (rec *restart) compareEnd(r *rig) {
	got := r.job(0)
	for _, e := range rec.Events {
		if e.what == eventEnd && e.data.Batch != nil {
			r.compareRestarted("batch", got, *e.data.Batch)
		}
	}
	sent := map[string]int{}
	for _, row := range r.backend.Log {
		sent[row.ID]++
	}
	twice := 0
	for _, n := range sent {
		if n > 1 {
			twice++
		}
	}
	r.want("backend_requests_total", len(r.backend.Log), rec.Total)
	r.want("requests_sent_twice", twice, rec.Twice)
	output, errors := r.content(got.OutputFileID), r.content(got.ErrorFileID)
	r.compareLines("output_lines", output, rec.Lines)
	r.compareLines("error_lines", errors, rec.Errors)
	r.compareFailures(rec, errors)
	if rec.cut != nil {
		rec.cut.compare(r, got, output)
	}
	if rec.Recovery != nil {
		if metric := r.recoveries(); !slices.Equal(metric, rec.Recovery) {
			r.differ("startup_recovery_metric: got %v, want %v", metric, rec.Recovery)
		}
	}
}

func (r *rig) compareLines(what, content string, want *int) {
	n := len(slices.Collect(strings.Lines(content)))
	switch {
	case want == nil:
		r.want(what, n, 0)
	default:
		r.want(what, n, *want)
	}
}

// compareFailures compares the codes of the error file and the text of one line.
func (r *rig) compareFailures(rec *restart, content string) {
	var codes []string
	for row := range strings.Lines(content) {
		var line openai.BatchOutput
		if json.Unmarshal([]byte(row), &line) == nil && line.Error != nil && !slices.Contains(codes, line.Error.Code) {
			codes = append(codes, line.Error.Code)
		}
	}
	slices.Sort(codes)
	if !slices.Equal(codes, rec.Codes) {
		r.differ("error_codes: got %v, want %v", codes, rec.Codes)
	}
	if len(rec.ErrorLine) > 0 {
		r.compareFirst("error_first_line", content, rec.ErrorLine)
	}
}

func (cut *partialOutput) compare(r *rig, b openai.Batch, output string) {
	lines := slices.Collect(strings.Lines(output))
	complete, last := 0, ""
	for _, line := range lines {
		if last = line; json.Valid([]byte(line)) {
			complete++
		}
	}
	r.want("cut output: status", b.Status, cut.Status)
	r.want("cut output: counts", b.RequestCounts, cut.Counts)
	r.want("cut output: bytes", len(output), cut.Bytes)
	r.want("cut output: complete lines", complete, cut.Complete)
	r.want("cut output: bytes of the last line", len(last), cut.LastBytes)
	r.want("cut output: last line is JSON", json.Valid([]byte(last)), cut.LastValid)
}

// recoveries are the series of the metric that counts jobs at the start of a processor.
func (r *rig) recoveries() []string {
	list := []string{}
	for _, family := range r.g.Processor().Gather() {
		if family.GetName() != "batch_startup_recovery_total" {
			continue
		}
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			list = append(list, fmt.Sprintf("%s{%s} %v", family.GetName(), strings.Join(labels, ","), m.Counter.GetValue()))
		}
	}
	return list
}
