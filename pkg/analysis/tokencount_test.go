package analysis

import (
	"testing"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
)

func TestRequestedTokensStandBesideThoseCounted(t *testing.T) {
	asked := func(q *record.Request, prompt, output int64) {
		q.RequestedPromptTokens, q.RequestedOutputTokens = &prompt, &output
	}
	ok := func(c *analysistest.Cell) (rows []*record.Request) {
		for i := range c.Requests {
			if q := &c.Requests[i]; q.Class == record.ClassInteractive && q.Status == record.StatusOK {
				q.RequestedPromptTokens, q.RequestedOutputTokens = nil, nil
				rows = append(rows, q)
			}
		}
		return rows
	}
	for _, c := range []struct {
		name                       string
		change                     func([]*record.Request)
		n                          float64 // requests that are compared
		ratio, same, least, most   float64 // of the prompts
		reason                     string
		outputs, outputRatio, asIs float64
	}{
		{"two prompts, one of them longer than it was made", func(rows []*record.Request) {
			asked(rows[0], *rows[0].PromptTokens, *rows[0].OutputTokens)
			asked(rows[1], *rows[1].PromptTokens-20, *rows[1].OutputTokens)
		}, 2, 200.0 / 180, 0.5, 0, 20, "", 2, 1, 1},
		{"a request that failed is none", func(rows []*record.Request) {
			asked(rows[0], *rows[0].PromptTokens+5, 2**rows[0].OutputTokens)
			asked(rows[1], 1, 1)
			rows[1].Status = record.StatusTimeout
		}, 1, 100.0 / 105, 0, -5, -5, "", 1, 0.5, 0},
		{"outputs that the client counted by chunks are none", func(rows []*record.Request) {
			asked(rows[0], *rows[0].PromptTokens, *rows[0].OutputTokens)
			chunks := record.TokensFromChunks
			rows[0].TokenSource = &chunks
		}, 1, 1, 1, 0, 0, "", 0, 0, 0},
		{"nothing was requested", func([]*record.Request) {}, 0, 0, 0, 0, 0, "no request has both numbers", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := analysistest.New(analysistest.S0, 1)
			rows := ok(&cell)
			usage := record.TokensFromUsage
			for _, q := range rows {
				q.TokenSource = &usage
			}
			c.change(rows)
			counts := mustSummarize(t, cell).TokenCounts
			if len(counts) != 1 || counts[0].Class != record.ClassInteractive {
				t.Fatalf("found %+v, expected the interactive class alone", counts)
			}
			got := counts[0]
			if c.reason != "" {
				if got.Prompt.Ratio.Reason != c.reason || got.Output.Same.Reason != c.reason || got.Prompt.Ratio.Value != nil {
					t.Errorf("found %+v, expected the reason %q", got, c.reason)
				}
				return
			}
			near(t, "ratio of the prompts", got.Prompt.Ratio, c.ratio)
			near(t, "prompts of the length requested", got.Prompt.Same.asValue(), c.same)
			near(t, "least", got.Prompt.Least, c.least)
			near(t, "most", got.Prompt.Most, c.most)
			if float64(got.Prompt.Ratio.N) != c.n || float64(got.Output.Ratio.N) != c.outputs {
				t.Errorf("found %d prompts and %d outputs, expected %v and %v", got.Prompt.Ratio.N, got.Output.Ratio.N, c.n, c.outputs)
			}
			if c.outputs > 0 {
				near(t, "ratio of the outputs", got.Output.Ratio, c.outputRatio)
				near(t, "outputs of the length requested", got.Output.Same.asValue(), c.asIs)
			}
		})
	}
}
