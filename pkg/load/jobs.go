package load

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/record"
)

// JobService is a Files and Batches API. Each method calls its done once, on the
// kernel's goroutine (during the call already, if it likes).
type JobService interface {
	// Submit uploads the job's file and creates the batch. sent is told how much of the
	// file is under way, on any goroutine.
	Submit(job inputs.JobFile, sent func(bytes int64), done func(openai.Batch, error))
	Poll(batchID string, done func(openai.Batch, error))
	// Cancel asks for the end of a batch.
	Cancel(batchID string, done func(openai.Batch, error))
	// Results reads the output and error files of a batch that has ended.
	Results(batch openai.Batch, done func([]Result, error))
}

// pollPeriod is as fast as polling is of use: the processor publishes a job's
// progress once a second (llm-d batch gateway processor).
const pollPeriod = time.Second

// watch follows one batch job from its upload to the rows of its lines.
type watch struct {
	r       *Replay
	file    inputs.JobFile
	lines   *jobLines
	batch   openai.Batch // as last seen
	created Stamp

	uploaded atomic.Int64 // bytes of the file

	asking   bool // a poll or a reading of the results is under way
	failures int
	lastErr  error
	over     bool // its lines are recorded
}

func (w *watch) submit() {
	w.r.cfg.Jobs.Submit(w.file, w.uploaded.Store, func(b openai.Batch, err error) {
		if w.over || w.r.stopping {
			return
		}
		if err != nil {
			w.r.fail(fmt.Errorf("job %s: submitting %s: %w", w.file.Name, w.file.Path, err))
			return
		}
		w.created = At(w.r.k.Now())
		w.saw(b)
		w.tick(1)
		w.r.submitNext()
		w.r.maybeStart()
	})
}

// tick asks at the n-th whole period after the creation, so that a slow answer
// shifts no later poll.
func (w *watch) tick(n int) {
	w.r.k.At(w.created.Time+time.Duration(n)*pollPeriod, func() {
		if w.over {
			return
		}
		if !w.asking {
			w.ask()
		}
		if !w.over {
			w.tick(n + 1)
		}
	})
}

func (w *watch) ask() {
	w.asking = true
	if openai.Ended(w.batch.Status) {
		w.r.cfg.Jobs.Results(w.batch, w.results)
		return
	}
	w.r.cfg.Jobs.Poll(w.batch.ID, w.polled)
}

func (w *watch) polled(b openai.Batch, err error) {
	w.asking = false
	if w.over {
		return
	}
	if err != nil {
		w.failed(err)
		return
	}
	w.r.outages[batchEndpoint].answered(w.r.k.Now())
	w.saw(b)
	if openai.Ended(b.Status) {
		w.ask()
	}
}

func (w *watch) failed(err error) {
	w.failures++
	w.lastErr = err
	var refused *openai.APIError
	if !errors.As(err, &refused) {
		w.r.outages[batchEndpoint].lost(w.r.k.Now(), false)
	}
}

// saw records an observation.
func (w *watch) saw(b openai.Batch) {
	w.batch = b
	id := w.r.cfg.Identity
	w.r.cfg.Rows.Job(record.Job{
		Experiment: id.Experiment, Arm: id.Arm, Trial: int32(id.Trial),
		Job:               w.file.Name,
		BatchID:           b.ID,
		ObservedAt:        calendar(w.r.k, w.r.k.Now()),
		Status:            b.Status,
		Total:             b.RequestCounts.Total,
		Completed:         b.RequestCounts.Completed,
		Failed:            b.RequestCounts.Failed,
		CreatedAt:         unixInstant(&b.CreatedAt),
		InProgressAt:      unixInstant(b.InProgressAt),
		FinalizingAt:      unixInstant(b.FinalizingAt),
		CompletedAt:       unixInstant(b.CompletedAt),
		ExpiredAt:         unixInstant(b.ExpiredAt),
		CompletionWindowS: w.file.Window.Seconds(),
	})
}

func unixInstant(s *int64) *time.Time {
	if s == nil {
		return nil
	}
	t := time.Unix(*s, 0).UTC()
	return &t
}

func (w *watch) results(results []Result, err error) {
	w.asking = false
	if w.over {
		return
	}
	if err != nil {
		w.failed(err)
		return
	}
	w.finish(results)
}

// giveUp ends the watch of a job that has no results yet.
func (w *watch) giveUp() {
	if w.over {
		return
	}
	if w.batch.ID != "" {
		w.r.warn("job %s: given up with status %s and %d of %d requests done",
			w.file.Name, w.batch.Status, w.batch.RequestCounts.Completed+w.batch.RequestCounts.Failed, len(w.lines.ids))
	}
	w.finish(nil)
}

// cancel asks the service to end the job. The run waits for the answer.
func (w *watch) cancel() {
	if w.over || w.batch.ID == "" || openai.Ended(w.batch.Status) {
		return
	}
	w.r.cancelling++
	w.r.cfg.Jobs.Cancel(w.batch.ID, func(b openai.Batch, err error) {
		w.r.cancelling--
		if err != nil {
			w.r.warn("job %s: %v", w.file.Name, err)
		} else {
			w.saw(b)
		}
		w.r.maybeStop()
	})
}

// finish writes the row of every result and of every line that has none.
func (w *watch) finish(results []Result) {
	w.over = true
	if w.failures > 0 {
		w.r.warn("job %s: %d questions to the Batch API failed, the last one with: %v", w.file.Name, w.failures, w.lastErr)
	}
	attempts := make([]int32, len(w.lines.ids))
	for _, result := range results {
		out := w.row(result)
		if i, ok := w.lines.index[result.CustomID]; ok {
			attempts[i]++
			w.place(&out, i, attempts[i])
		} else {
			out.Status, out.Error = record.StatusProtocolError, text("a result for a custom_id that the job does not have")
		}
		w.r.recordResult(out)
	}
	for i, n := range attempts {
		if n > 0 {
			continue
		}
		out := w.row(Result{CustomID: w.lines.ids[i], Status: record.StatusIncomplete, Error: "no terminal result"})
		w.place(&out, i, 1)
		w.r.recordResult(out)
	}
	w.r.maybeStop()
}

// place says which line of the input a row answers. A line that was answered twice
// has two rows, told apart by their attempt.
func (w *watch) place(out *record.Request, line int, attempt int32) {
	out.PromptIndex = ptr(int64(line))
	out.RequestedOutputTokens = count(w.lines.maxTokens[line])
	out.Attempt = attempt
}

// row is the row of a batch line. The Batch API tells no times.
func (w *watch) row(result Result) record.Request {
	out := w.r.cfg.Identity.blank()
	out.Class = record.ClassBatch
	out.Job = text(w.file.Name)
	out.RequestID = result.RequestID
	out.CustomID = text(result.CustomID)
	out.Attempt = 1
	out.Status = result.Status
	if result.HTTPStatus != 0 {
		out.HTTPStatus = ptr(int32(result.HTTPStatus))
	}
	out.Error = text(result.Error)
	out.FinishReason = text(result.FinishReason)
	out.OutputSHA256 = text(result.OutputSHA256)
	if u := result.Usage; u != nil {
		out.PromptTokens, out.OutputTokens = ptr(int64(u.PromptTokens)), ptr(int64(u.CompletionTokens))
		if d := u.PromptTokensDetails; d != nil {
			out.CachedTokens = ptr(int64(d.CachedTokens))
		}
		if d := u.CompletionTokensDetails; d != nil {
			out.ReasoningTokens = ptr(int64(d.ReasoningTokens))
		}
		out.TokenSource = text(record.TokensFromUsage)
	}
	return out
}

// recordResult records the row of a batch line.
func (r *Replay) recordResult(out record.Request) {
	r.tally.addResult(out.Status)
	r.cfg.Rows.Request(out)
}
