package load

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// ModelJobs is the Batch API of a stack model on the same kernel.
type ModelJobs struct{ Gateway *gateway.Gateway }

// tenant is whom the batch gateway takes a caller for that names none.
const tenant = "default"

// Submit implements JobService.
func (m ModelJobs) Submit(job inputs.JobFile, _ func(int64), done func(openai.Batch, error)) {
	done(m.submit(job))
}

func (m ModelJobs) submit(job inputs.JobFile) (openai.Batch, error) {
	content, err := job.Content()
	if err != nil {
		return openai.Batch{}, err
	}
	f, apiErr := m.Gateway.Upload(tenant, gateway.Upload{
		Purpose: "batch", Filename: filepath.Base(job.Path), Content: content,
	})
	if apiErr != nil {
		return openai.Batch{}, apiErr
	}
	body, err := json.Marshal(createBatch(job, f.ID))
	if err != nil {
		return openai.Batch{}, err
	}
	b, apiErr := m.Gateway.CreateBatch(tenant, body, nil)
	return b, orNil(apiErr)
}

func createBatch(job inputs.JobFile, fileID string) openai.CreateBatch {
	return openai.CreateBatch{
		InputFileID:      fileID,
		Endpoint:         "/v1/chat/completions",
		CompletionWindow: job.Window.String(),
		Metadata:         map[string]string{"job": job.Name},
	}
}

// Poll implements JobService.
func (m ModelJobs) Poll(batchID string, done func(openai.Batch, error)) {
	b, apiErr := m.Gateway.Batch(tenant, batchID)
	done(b, orNil(apiErr))
}

// Cancel implements JobService.
func (m ModelJobs) Cancel(batchID string, done func(openai.Batch, error)) {
	b, apiErr := m.Gateway.Cancel(tenant, batchID)
	done(b, orNil(apiErr))
}

// Results implements JobService.
func (m ModelJobs) Results(batch openai.Batch, done func([]Result, error)) {
	var all []Result
	for _, id := range resultFiles(batch) {
		content, apiErr := m.Gateway.Content(tenant, id)
		if apiErr != nil {
			done(nil, apiErr)
			return
		}
		results, err := readResults(id, strings.NewReader(content))
		if err != nil {
			done(nil, err)
			return
		}
		all = append(all, results...)
	}
	done(all, nil)
}

// resultFiles are the files that a batch that has ended left.
func resultFiles(batch openai.Batch) []string {
	var ids []string
	for _, id := range []*string{batch.OutputFileID, batch.ErrorFileID} {
		if id != nil && *id != "" {
			ids = append(ids, *id)
		}
	}
	return ids
}

// orNil keeps a nil pointer from becoming an error that is not nil.
func orNil(err *gateway.APIError) error {
	if err == nil {
		return nil
	}
	return err
}
