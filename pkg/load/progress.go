package load

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bgbench/pkg/openai"
)

// Progress is the state of a run at an instant.
type Progress struct {
	Elapsed, Total time.Duration // on the kernel's clock; Total without the drain
	Phase          string        // "lead" before schedule time 0, "drain" after the last band
	Sent, Due      int           // requests of the schedule
	InFlight       int           // of all classes
	OK, Failed     int           // requests of the schedule
	Jobs           []JobProgress
}

// JobProgress is the state of a job.
type JobProgress struct {
	Name        string
	Done, Total int64
	Status      string
	Uploaded    int64 // bytes of the job's file; 0 where none is
}

// progress is the state of the run now.
func (r *Replay) progress() Progress {
	p := Progress{
		Elapsed:  r.k.Now(),
		Total:    r.phases.start.Time + r.phases.length(),
		Phase:    "lead",
		Sent:     r.schedule.sent,
		Due:      r.tally.due,
		InFlight: len(r.flights.open),
		OK:       r.tally.ok,
		Failed:   r.tally.failed,
	}
	if r.phases.start.OK && p.Elapsed >= r.phases.start.Time {
		if p.Phase = r.phases.at(p.Elapsed).phase; p.Phase == "" {
			p.Phase = "drain"
		}
	}
	for _, w := range r.jobs {
		c := w.batch.RequestCounts
		p.Jobs = append(p.Jobs, JobProgress{w.file.Name, c.Completed + c.Failed, int64(len(w.lines.ids)), w.batch.Status, w.uploaded.Load()})
	}
	if r.backlog != nil {
		for _, j := range r.backlog.jobs {
			status := openai.BatchInProgress
			if j.ended.OK {
				status = openai.BatchCompleted
			}
			p.Jobs = append(p.Jobs, JobProgress{j.file.Name, j.completed + j.failed, j.total, status, 0})
		}
	}
	return p
}

// String is p on one line.
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s %s: sent %d of %d, in flight %d, ok %d, failed %d",
		clock(p.Elapsed), clock(p.Total), p.Phase, p.Sent, p.Due, p.InFlight, p.OK, p.Failed)
	for i, j := range p.Jobs {
		if i == 0 {
			b.WriteString(", jobs")
		}
		if j.Status == "" && j.Uploaded > 0 {
			fmt.Fprintf(&b, " %s uploaded %.1f MB", j.Name, float64(j.Uploaded)/1e6)
			continue
		}
		fmt.Fprintf(&b, " %s %d/%d", j.Name, j.Done, j.Total)
		if openai.Ended(j.Status) && j.Status != openai.BatchCompleted {
			fmt.Fprintf(&b, " (%s)", j.Status)
		}
	}
	return b.String()
}

// clock writes d as 2:05 or 1:02:05.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Meter prints the progress of a run, on a goroutine of its own: a terminal that
// does not take bytes must not hold up the load.
type Meter struct {
	w        io.Writer
	terminal bool
	virtual  bool
	started  time.Time
	latest   atomic.Pointer[Progress]
	shown    *Progress // the printing goroutine's
	stop     chan struct{}
	stopped  sync.Once
	printed  sync.WaitGroup
}

const (
	barPeriod  = 250 * time.Millisecond
	linePeriod = 10 * time.Second
	barWidth   = 24
)

// NewMeter prints to w, as a bar that is drawn again and again where w is a
// terminal, else as a line every ten seconds. On the virtual clock it says how the
// simulated time compares with the wall's.
func NewMeter(w io.Writer, terminal, virtual bool) *Meter {
	m := &Meter{w: w, terminal: terminal, virtual: virtual, started: time.Now(), stop: make(chan struct{})}
	m.printed.Go(m.run)
	return m
}

// Report takes the state of the run; the meter prints it when it is due.
func (m *Meter) Report(p Progress) { m.latest.Store(&p) }

// Close prints the last state and ends the meter. A second call does nothing.
func (m *Meter) Close() {
	m.stopped.Do(func() { close(m.stop) })
	m.printed.Wait()
}

func (m *Meter) run() {
	period := linePeriod
	if m.terminal {
		period = barPeriod
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.print()
		case <-m.stop:
			m.print()
			if m.terminal && m.latest.Load() != nil {
				fmt.Fprintln(m.w)
			}
			return
		}
	}
}

func (m *Meter) print() {
	p := m.latest.Load()
	if p == nil || p == m.shown {
		return
	}
	m.shown = p
	line := p.String()
	if m.virtual {
		wall := time.Since(m.started).Seconds()
		line = fmt.Sprintf("%s (simulated %.0f s in %.1f s)", line, p.Elapsed.Seconds(), wall)
	}
	if !m.terminal {
		fmt.Fprintln(m.w, line)
		return
	}
	// Return to the start of the line and clear to its end (ECMA-48 EL).
	fmt.Fprintf(m.w, "\r%s %s\x1b[K", bar(p.Elapsed, p.Total), line)
}

func bar(done, total time.Duration) string {
	n := barWidth
	if total > 0 && done < total {
		n = int(int64(barWidth) * int64(done) / int64(total))
	}
	return "[" + strings.Repeat("=", n) + strings.Repeat(" ", barWidth-n) + "]"
}
