package load

import (
	"context"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
)

// A poll that hangs would end the polling: it is given up, and the next one asks
// again. Files of tens of megabytes get longer.
const (
	pollTimeout = 10 * time.Second
	fileTimeout = 5 * time.Minute
)

// HTTPJobs is the Batch API of a stack that runs. Each call is a goroutine that
// posts its answer to the kernel.
type HTTPJobs struct {
	Context context.Context // ends the calls that are under way
	K       *kernel.Kernel  // on the wall clock
	Client  *openai.BatchClient
}

// Submit implements JobService. The file goes from the disk to the socket.
func (h HTTPJobs) Submit(job inputs.JobFile, sent func(int64), done func(openai.Batch, error)) {
	ask(h, fileTimeout, done, func(ctx context.Context) (openai.Batch, error) {
		f, err := h.Client.UploadFile(ctx, job.Path, openai.PurposeBatch, sent)
		if err != nil {
			return openai.Batch{}, err
		}
		return h.Client.CreateBatch(ctx, createBatch(job, f.ID))
	})
}

// Poll implements JobService.
func (h HTTPJobs) Poll(batchID string, done func(openai.Batch, error)) {
	ask(h, pollTimeout, done, func(ctx context.Context) (openai.Batch, error) { return h.Client.Batch(ctx, batchID) })
}

// Cancel implements JobService. It is what is left to do when the run was ended.
func (h HTTPJobs) Cancel(batchID string, done func(openai.Batch, error)) {
	h.Context = context.WithoutCancel(h.Context)
	ask(h, cancelGrace, done, func(ctx context.Context) (openai.Batch, error) { return h.Client.Cancel(ctx, batchID) })
}

// Results implements JobService.
func (h HTTPJobs) Results(batch openai.Batch, done func([]Result, error)) {
	ask(h, fileTimeout, done, func(ctx context.Context) ([]Result, error) {
		var all []Result
		for _, id := range resultFiles(batch) {
			results, err := h.results(ctx, id)
			if err != nil {
				return nil, err
			}
			all = append(all, results...)
		}
		return all, nil
	})
}

func (h HTTPJobs) results(ctx context.Context, fileID string) ([]Result, error) {
	content, err := h.Client.Content(ctx, fileID)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return readResults(fileID, content)
}

// ask calls the API on a goroutine and done on the kernel's.
func ask[T any](h HTTPJobs, timeout time.Duration, done func(T, error), call func(context.Context) (T, error)) {
	go func() {
		ctx, cancel := within(h.Context, timeout)
		defer cancel()
		v, err := call(ctx)
		h.K.Post(func() { done(v, err) })
	}()
}
