package stack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
)

// An arm's restarts reach the processor: its job runs again from the first line.
func TestTheProcessorRestartsWhenItsArmSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		sets   []string
		expire bool // expires_at is set by a restart and nothing else
	}{
		"without restarts": {nil, false},
		"killed in mid-job": {
			[]string{"gateway.restarts=[{at: 5100ms, signal: SIGKILL, downFor: 1s}]"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := kernel.NewVirtual()
			g := build(t, k, "s2-ungated", test.sets...).Gateway()
			var input strings.Builder
			for i := range 20 {
				fmt.Fprintf(&input, `{"custom_id":"%d","method":"POST","url":"/v1/chat/completions","body":{"model":"Qwen/Qwen3-8B","messages":[{"role":"user","content":"x"}],"max_tokens":500,"ignore_eos":true}}`+"\n", i)
			}
			f, apiErr := g.Upload(gateway.DefaultTenant, gateway.Upload{Purpose: "batch", Content: []byte(input.String())})
			if apiErr != nil {
				t.Fatal(apiErr)
			}
			var job openai.Batch
			k.At(time.Millisecond, func() { // the processor has just looked: it looks again after 5 s
				job, apiErr = g.CreateBatch(gateway.DefaultTenant, fmt.Appendf(nil,
					`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"30m"}`, f.ID), nil)
			})
			run(t, k)
			if apiErr != nil {
				t.Fatal(apiErr)
			}
			got := g.Peek(job.ID)
			if got.Status != openai.BatchCompleted || got.RequestCounts.Completed != 20 || (got.ExpiresAt != nil) != test.expire {
				t.Errorf("the job ended %s with %+v, expires_at %v, expected it completed, set by a restart: %t",
					got.Status, got.RequestCounts, got.ExpiresAt, test.expire)
			}
		})
	}
}
