package gateway

import "slices"

// jobQueue holds the jobs that no worker has taken, the earliest deadline first,
// as the processor's sorted set does.
type jobQueue struct{ jobs []*batch }

func (q *jobQueue) push(b *batch) {
	at, _ := slices.BinarySearchFunc(q.jobs, b, func(queued, b *batch) int {
		if queued.deadline <= b.deadline {
			return -1
		}
		return 1
	})
	q.jobs = slices.Insert(q.jobs, at, b)
}

// pop takes the job with the earliest deadline, nil when there is none.
func (q *jobQueue) pop() *batch {
	if len(q.jobs) == 0 {
		return nil
	}
	b := q.jobs[0]
	q.jobs = slices.Delete(q.jobs, 0, 1)
	return b
}

// remove takes b out and reports whether it was still queued.
func (q *jobQueue) remove(b *batch) bool {
	i := slices.Index(q.jobs, b)
	if i < 0 {
		return false
	}
	q.jobs = slices.Delete(q.jobs, i, i+1)
	return true
}
