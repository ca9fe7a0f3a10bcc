package load

import (
	"encoding/json"
	"io"
	"time"

	"bgbench/pkg/record"
)

// RunKey is the key of the schema metadata under which a piped stream of rows
// carries run-metadata.json.
const RunKey = "bg.run"

// Pipe writes a cell to a pipe: a stream of requests as they end, then a stream of
// jobs, whose metadata is the whole of run-metadata.json.
type Pipe struct {
	w        io.Writer
	requests *record.StreamWriter[record.Request]
	flushed  time.Time
	jobs     []record.Job
}

// pipeFlush is how long rows may wait, so that a reader can follow the run.
const pipeFlush = time.Second

// NewPipe returns the output that writes to w.
func NewPipe(w io.Writer) *Pipe { return &Pipe{w: w} }

// Begin implements Output.
func (p *Pipe) Begin(meta record.Metadata) error {
	about, err := pipeMeta(meta)
	if err != nil {
		return err
	}
	p.requests, err = record.NewStreamWriter[record.Request](p.w, about)
	return err
}

// Started implements Output: what is on a pipe cannot be taken back.
func (p *Pipe) Started(record.Metadata) error { return nil }

func pipeMeta(meta record.Metadata) (map[string]string, error) {
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	about := fileMeta(meta)
	about[RunKey] = string(text)
	return about, nil
}

// WriteRequests implements Output.
func (p *Pipe) WriteRequests(rows ...record.Request) error {
	if err := p.requests.Write(rows...); err != nil || time.Since(p.flushed) < pipeFlush {
		return err
	}
	p.flushed = time.Now()
	return p.requests.Flush()
}

// WriteJobs implements Output. Jobs wait for the end of the first stream; there is
// one row a second of each.
func (p *Pipe) WriteJobs(rows ...record.Job) error {
	p.jobs = append(p.jobs, rows...)
	return nil
}

// Finish implements Output.
func (p *Pipe) Finish(meta record.Metadata) error {
	if err := p.requests.Close(); err != nil {
		return err
	}
	about, err := pipeMeta(meta)
	if err != nil {
		return err
	}
	jobs, err := record.NewStreamWriter[record.Job](p.w, about)
	if err != nil {
		return err
	}
	if err := jobs.Write(p.jobs...); err != nil {
		return err
	}
	return jobs.Close()
}

// Abandon implements Output: without its second stream the pipe is visibly cut.
func (p *Pipe) Abandon() error { return nil }
