package spec

import (
	"strconv"

	"bgbench/pkg/batchfile"
)

// splitJobs divides each job whose file could be larger than the batch gateway takes
// into parts, jobs of their own with its window. The parts are as equal as can be.
func (p *Profile) splitJobs() {
	most := p.maxPart()
	var jobs []Job
	for _, job := range p.Batch.Jobs {
		n := (job.Requests + most - 1) / most
		if n < 2 || job.Requests > maxJobRequests {
			jobs = append(jobs, job)
			continue
		}
		for i := range n {
			part := job
			part.Name = job.Name + "-" + strconv.Itoa(i+1)
			part.Of = job.Name
			part.Requests = job.Requests*(i+1)/n - job.Requests*i/n
			jobs = append(jobs, part)
		}
	}
	p.Batch.Jobs = jobs
}

// maxPart is how many requests always fit one file, even if each had the longest prompt.
// Texts from elsewhere are as long as they are: of them only the lines are counted.
func (p Profile) maxPart() int {
	prompt := p.BatchPrompt()
	if prompt.Source != nil {
		return batchfile.MaxLines
	}
	tokens := prompt.SystemPrompts.Tokens + min(prompt.ISL.longest(), p.MaxModelLen)
	if prompt.Conversation != nil {
		tokens = p.MaxModelLen // a history fills the context
	}
	line := tokens*tokenBytes + lineBytes + len(p.Model)
	return max(1, min(batchfile.MaxLines, batchfile.MaxBytes/line))
}

// tokenBytes is a word of five letters and a space, the longest of a generated text.
const tokenBytes = 6

// lineBytes is what a line has beside its texts and the model: the keys, the id, the
// salt (of three names at most), numbers.
const lineBytes = 256 + 6*64

// longest is the most tokens that d gives.
func (d Distribution) longest() int {
	if d.Type == Fixed {
		return int(d.Mean)
	}
	return d.Max
}

// Whole is the name of the job that this one is a part of, its own where it is none.
func (j Job) Whole() string {
	if j.Of != "" {
		return j.Of
	}
	return j.Name
}
