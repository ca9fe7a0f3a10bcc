package analysis

import (
	"strings"

	"bgbench/pkg/record"
)

// TokenCounts holds the lengths that the requests of a class were made to have against what
// the servers counted, over all requests of the run that ended ok.
type TokenCounts struct {
	Class  string       `json:"class"`  // interactive, batch, batch-equivalent or standard
	Prompt TokensPaired `json:"prompt"` // of the prompts
	Output TokensPaired `json:"output"` // of the answers
}

// TokensPaired compares what was requested with what was counted, request by request; those
// without both numbers are left out.
type TokensPaired struct {
	Requested Value `json:"requested"` // sum of what was asked for
	Counted   Value `json:"counted"`   // sum of what the servers counted
	Ratio     Value `json:"ratio"`     // counted / requested
	Same      Share `json:"same"`      // requests with exactly as many
	// Least and Most are the smallest and the largest of counted − requested.
	Least Value `json:"least_difference"`
	Most  Value `json:"most_difference"` // largest difference of a request
}

// pairedTokens adds them up.
type pairedTokens struct {
	n, same            int
	requested, counted int64
	least, most        int64
}

func (p *pairedTokens) add(requested, counted *int64) {
	if requested == nil || counted == nil {
		return
	}
	by := *counted - *requested
	if p.n == 0 {
		p.least, p.most = by, by
	}
	p.n++
	p.same += rank(by == 0)
	p.requested += *requested
	p.counted += *counted
	p.least, p.most = min(p.least, by), max(p.most, by)
}

func (p pairedTokens) result(none string) TokensPaired {
	if p.n == 0 {
		v := missing(0, "%s", none)
		return TokensPaired{Requested: v, Counted: v, Ratio: v, Same: unknownShare(none), Least: v, Most: v}
	}
	t := TokensPaired{
		Requested: measured(float64(p.requested), p.n), Counted: measured(float64(p.counted), p.n),
		Ratio: missing(p.n, "no token was requested"), Same: shareOf(p.same, p.n, none),
		Least: measured(float64(p.least), p.n), Most: measured(float64(p.most), p.n),
	}
	if p.requested > 0 {
		t.Ratio = measured(float64(p.counted)/float64(p.requested), p.n)
	}
	return t
}

// classTokens are those of one class.
type classTokens struct{ prompt, output pairedTokens }

// addCounts takes a row that ended ok. Chunks that the client counted are no count of a server.
func (r *rows) addCounts(q *record.Request) {
	if q.Status != record.StatusOK {
		return
	}
	t := r.counts[q.Class]
	if t == nil {
		t = &classTokens{}
		r.counts[strings.Clone(q.Class)] = t // a string of a row shares the memory of its whole batch
	}
	t.prompt.add(q.RequestedPromptTokens, q.PromptTokens)
	if q.TokenSource != nil && *q.TokenSource != record.TokensFromChunks {
		t.output.add(q.RequestedOutputTokens, q.OutputTokens)
	}
}

// tokenCounts lists the classes that have a request that ended ok.
func (r *rows) tokenCounts() []TokenCounts {
	out := []TokenCounts{}
	for _, class := range classes {
		if t := r.counts[class]; t != nil {
			const none = "no request has both numbers"
			out = append(out, TokenCounts{class, t.prompt.result(none), t.output.result(none)})
		}
	}
	return out
}
