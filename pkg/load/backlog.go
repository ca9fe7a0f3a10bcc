package load

import (
	"fmt"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/record"
)

// backlog sends the lines of all job files, in file order, as ordinary streaming
// requests: what a user does who has no batch gateway. A bound on the requests in
// flight paces it, or a rate.
type backlog struct {
	r     *Replay
	lines []backlogLine
	next  int
	open  int
	jobs  []*backlogJob
	over  bool
}

// backlogLine is one line of a job file.
type backlogLine struct {
	job      inputs.JobFile
	index    int // 0-based in its file
	customID string
	chat     *openai.ChatRequest
}

// backlogJob counts what the poll of a batch job would show.
type backlogJob struct {
	file                     inputs.JobFile
	total, completed, failed int64
	created, began, ended    Stamp
}

func newBacklog(r *Replay, lines []backlogLine) *backlog {
	b := &backlog{r: r, lines: lines}
	for _, l := range lines {
		if n := len(b.jobs); n == 0 || b.jobs[n-1].file.Name != l.job.Name {
			b.jobs = append(b.jobs, &backlogJob{file: l.job})
		}
		b.jobs[len(b.jobs)-1].total++
	}
	return b
}

func (b *backlog) begin() {
	for _, j := range b.jobs {
		j.created = At(b.r.k.Now())
	}
	if b.r.cfg.Backlog.Rate > 0 {
		b.sendAtRate(b.r.k.Now())
		return
	}
	b.fill()
}

// fill keeps the allowed number of requests in flight.
func (b *backlog) fill() {
	for !b.over && !b.r.stopping && b.open < b.r.cfg.Backlog.Concurrency && b.next < len(b.lines) {
		b.sendNext()
	}
}

// sendAtRate sends line i at start + i/rate, whatever becomes of the others.
func (b *backlog) sendAtRate(start time.Duration) {
	if b.over || b.r.stopping || b.next == len(b.lines) {
		return
	}
	b.sendNext()
	at := start + time.Duration(float64(b.next)/b.r.cfg.Backlog.Rate*float64(time.Second))
	b.r.k.At(at, func() { b.sendAtRate(start) })
}

func (b *backlog) sendNext() {
	b.next++
	b.send(b.lines[b.next-1])
}

func (b *backlog) send(line backlogLine) {
	b.open++
	job := b.job(line)
	if !job.began.OK {
		job.began = At(b.r.k.Now())
	}
	b.r.flights.start(b.request(line), func(a Attempt) { b.ended(job, a) })
}

func (b *backlog) job(line backlogLine) *backlogJob {
	for _, j := range b.jobs {
		if j.file.Name == line.job.Name {
			return j
		}
	}
	panic("load: backlog line of an unknown job " + line.job.Name)
}

func (b *backlog) request(line backlogLine) *Request {
	id := b.r.cfg.Identity
	return &Request{
		ID:           fmt.Sprintf("%s-t%d-%s-%d", id.Arm, id.Trial, line.job.Name, line.index),
		Attempt:      1,
		Objective:    b.r.cfg.Backlog.Objective,
		Chat:         line.chat,
		Class:        record.ClassBatchEquivalent,
		Job:          line.job.Name,
		CustomID:     line.customID,
		PromptIndex:  int64(line.index),
		OutputTokens: int64(line.chat.MaxTokens),
		Timeout:      b.r.cfg.Inputs.Manifest.Profile.Interactive.RequestTimeout.Std(),
	}
}

func (b *backlog) ended(job *backlogJob, a Attempt) {
	b.open--
	switch a.Status {
	case record.StatusOK:
		job.completed++
	case record.StatusIncomplete:
	default:
		job.failed++
	}
	if job.completed+job.failed == job.total {
		job.ended = At(b.r.k.Now())
		b.r.cfg.Rows.Job(b.row(job))
	}
	b.goOn()
}

// goOn sends what may be sent now, or ends the backlog.
func (b *backlog) goOn() {
	if b.r.cfg.Backlog.Rate == 0 {
		b.fill()
	}
	if b.next == len(b.lines) && b.open == 0 {
		b.over = true
	}
	b.r.maybeStop()
}

// observe records a row of each job that has not ended.
func (b *backlog) observe() {
	for _, j := range b.jobs {
		if !j.ended.OK {
			b.r.cfg.Rows.Job(b.row(j))
		}
	}
}

// giveUp ends the backlog: what is in flight is incomplete, and so is what was
// never sent.
func (b *backlog) giveUp(why string) {
	if b.over {
		return
	}
	b.over = true
	unsent := b.lines[b.next:]
	b.next = len(b.lines)
	b.r.flights.stopAll(record.StatusIncomplete, "still in flight when "+why,
		func(req *Request) bool { return req.Class == record.ClassBatchEquivalent })
	for _, line := range unsent {
		b.r.recordAttempt(b.request(line), Attempt{Status: record.StatusIncomplete, Error: "not sent when " + why})
	}
}

func (b *backlog) row(j *backlogJob) record.Job {
	status := openai.BatchInProgress
	if j.ended.OK {
		status = openai.BatchCompleted
	}
	id := b.r.cfg.Identity
	return record.Job{
		Experiment: id.Experiment, Arm: id.Arm, Trial: int32(id.Trial),
		Job:               j.file.Name,
		ObservedAt:        calendar(b.r.k, b.r.k.Now()),
		Status:            status,
		Total:             j.total,
		Completed:         j.completed,
		Failed:            j.failed,
		CreatedAt:         j.created.instant(b.r.k),
		InProgressAt:      j.began.instant(b.r.k),
		CompletedAt:       j.ended.instant(b.r.k),
		CompletionWindowS: j.file.Window.Seconds(),
	}
}
