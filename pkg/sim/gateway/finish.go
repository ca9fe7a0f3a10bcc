package gateway

import (
	"slices"
	"time"

	"bgbench/pkg/openai"
)

// fail ends a job whose input was refused: no counts, no files, and the reason
// only in the log.
func (r *run) fail(reason string) {
	r.b.reason = reason
	r.b.Status = openai.BatchFailed
	r.b.FailedAt = r.p.g.unixPtr()
	r.p.metrics.jobE2E(openai.BatchFailed, r.p.instant(), r.b.CreatedAt)
	r.p.metrics.jobProcessed("failed", "system_error")
	r.release()
}

// finish stores the files and brings the job to its last status.
func (r *run) finish() {
	r.ended = true
	r.progress.Stop()
	r.deadline.Stop()
	r.b.progress = r.counts
	switch {
	case r.abort != "" && !r.ingested:
		r.end()
	case r.abort != "":
		r.p.g.k.After(abortTime, r.end)
	default:
		r.b.Status = openai.BatchFinalizing
		r.b.FinalizingAt = r.p.g.unixPtr()
		r.b.RequestCounts = r.counts
		r.p.g.k.After(finalizeTime, r.end)
	}
}

func (r *run) end() {
	if r.halted {
		return
	}
	b, now := r.b, r.p.g.unixPtr()
	b.RequestCounts = r.counts
	r.p.storeResults(b, r.outputs.text(), r.errors.text())
	r.outputs, r.errors = resultFile{}, resultFile{}
	result, reason := "success", "none"
	switch r.abort {
	case codeExpired:
		b.Status, b.ExpiredAt = openai.BatchExpired, now
		result, reason = "expired", "expired_execution"
	case codeCancelled:
		// The instant of the request to cancel gets lost on this transition.
		b.Status, b.CancelledAt, b.CancellingAt = openai.BatchCancelled, now, nil
		r.p.metrics.cancellation("in_progress")
	default:
		b.Status, b.CompletedAt = openai.BatchCompleted, now
	}
	if r.ingested {
		r.p.metrics.jobDuration(time.Duration(r.p.g.k.Now()-r.started), r.plan.lines)
	}
	r.p.metrics.jobE2E(b.Status, r.p.instant(), b.CreatedAt)
	r.p.metrics.jobProcessed(result, reason)
	r.release()
}

func (r *run) release() {
	r.ended = true
	r.deadline.Stop()
	r.b.run = nil
	r.plan = plan{}
	r.p.runs = slices.DeleteFunc(r.p.runs, func(other *run) bool { return other == r })
	r.p.release(r.listening)
}

// storeResults uploads the output and the error file of a job.
func (p *processor) storeResults(b *batch, output, errors string) {
	b.OutputFileID = p.store(b, "output", output)
	b.ErrorFileID = p.store(b, "error", errors)
}

// store uploads a result file unless it is empty.
func (p *processor) store(b *batch, kind, content string) *string {
	if content == "" {
		return nil
	}
	lifetime := int64(DefaultLifetime)
	if b.outputLifetime > 0 {
		lifetime = b.outputLifetime
	}
	id := p.g.newID("file_")
	p.g.storeFile(b.tenant, id, "batch_"+kind+"_"+b.ID+".jsonl", purposeBatchOutput, "processed", content, lifetime)
	p.metrics.storage("store")
	return &id
}
