package load

import (
	"sync"
	"sync/atomic"

	"bgbench/pkg/record"
)

// Recorder takes rows from the kernel's goroutine and writes them on its own, so
// that a slow disk delays no request until recorderDepth rows wait.
type Recorder struct {
	out     Output
	rows    chan anyRow
	written sync.WaitGroup
	err     atomic.Pointer[error]
}

// Output is where the rows and the metadata of a cell go.
type Output interface {
	// Begin gets the metadata as known at the start of the run.
	Begin(record.Metadata) error
	// Started gets it again when schedule time 0 is fixed, for whoever has to make do
	// with what a killed run left.
	Started(record.Metadata) error
	WriteRequests(rows ...record.Request) error
	WriteJobs(rows ...record.Job) error
	// Finish gets the metadata as known at its end; Abandon comes in its place
	// when the run failed, and keeps what can be kept.
	Finish(record.Metadata) error
	Abandon() error
}

// anyRow is one row of either kind.
type anyRow struct {
	request *record.Request
	job     *record.Job
}

const (
	recorderDepth = 1 << 14
	recorderBatch = 256 // rows handed over in one call
)

// NewRecorder starts writing to out.
func NewRecorder(out Output) *Recorder {
	r := &Recorder{out: out, rows: make(chan anyRow, recorderDepth)}
	r.written.Go(r.write)
	return r
}

// Request implements Rows.
func (r *Recorder) Request(row record.Request) { r.rows <- anyRow{request: &row} }

// Job implements Rows.
func (r *Recorder) Job(row record.Job) { r.rows <- anyRow{job: &row} }

// Err implements Rows.
func (r *Recorder) Err() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes what is left and returns the first failure.
func (r *Recorder) Close() error {
	close(r.rows)
	r.written.Wait()
	return r.Err()
}

func (r *Recorder) write() {
	requests := make([]record.Request, 0, recorderBatch)
	for row := range r.rows {
		if r.Err() != nil {
			continue // the file keeps what it has; more cannot be kept
		}
		if row.job != nil {
			r.note(r.out.WriteJobs(*row.job))
			continue
		}
		requests = append(requests[:0], *row.request)
		var job *record.Job
		for len(requests) < recorderBatch && len(r.rows) > 0 && job == nil {
			next := <-r.rows
			if next.job != nil {
				job = next.job
			} else {
				requests = append(requests, *next.request)
			}
		}
		r.note(r.out.WriteRequests(requests...))
		if job != nil {
			r.note(r.out.WriteJobs(*job))
		}
	}
}

func (r *Recorder) note(err error) {
	if err != nil && r.Err() == nil {
		r.err.Store(&err)
	}
}
