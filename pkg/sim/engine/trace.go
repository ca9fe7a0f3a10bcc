package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// traceCase is one recorded case, as the JSON file has it.
type traceCase struct {
	Name       string                  `json:"name"`
	Why        string                  `json:"why"`
	VLLMCommit string                  `json:"vllm_commit"`
	Config     traceConfig             `json:"config"`
	Requests   []traceRequest          `json:"requests"`
	Steps      []traceStep             `json:"steps"`
	Totals     traceTotals             `json:"totals"`
	Outcomes   map[string]traceOutcome `json:"outcomes"`
	Stuck      []string                `json:"stuck"`
}

type traceConfig struct {
	MaxNumSeqs                int     `json:"max_num_seqs"`
	MaxNumBatchedTokens       int     `json:"max_num_batched_tokens"`
	BlockSize                 int     `json:"block_size"`
	NumGPUBlocks              int     `json:"num_gpu_blocks"`
	EnablePrefixCaching       bool    `json:"enable_prefix_caching"`
	EnableChunkedPrefill      bool    `json:"enable_chunked_prefill"`
	LongPrefillTokenThreshold int     `json:"long_prefill_token_threshold"`
	Policy                    string  `json:"policy"`
	AsyncScheduling           bool    `json:"async_scheduling"`
	MaxModelLen               int     `json:"max_model_len"`
	ReserveFullISL            bool    `json:"scheduler_reserve_full_isl"`
	Watermark                 float64 `json:"watermark"`
	NullBlocks                int     `json:"null_blocks"`
}

type traceRequest struct {
	ID         string      `json:"id"`
	ArriveStep int         `json:"arrive_step"`
	Prompt     tracePrompt `json:"prompt"`
	MaxTokens  int         `json:"max_tokens"`
	Priority   int         `json:"priority"`
	CacheSalt  *string     `json:"cache_salt"`
	AbortStep  *int        `json:"abort_step"`
	AbortPhase string      `json:"abort_phase"`
}

type tracePrompt struct {
	Len    int          `json:"len"`
	Groups []traceGroup `json:"groups"`
}

type traceGroup struct {
	Seed *int `json:"seed"`
	Out  *int `json:"out"`
	Len  int  `json:"len"`
}

// traceStep is one line of a case. The orders and processed_batch are pointers
// because their absence means something: as before, or the batch before.
type traceStep struct {
	I               int              `json:"i"`
	Repeat          int              `json:"repeat"`
	Arrived         []string         `json:"arrived"`
	Scheduled       orderedCounts    `json:"scheduled"`
	New             []string         `json:"new"`
	Resumed         []string         `json:"resumed"`
	Cached          map[string]int   `json:"cached_tokens_of_new"`
	Preempted       []string         `json:"preempted"`
	PreemptedTokens map[string]int   `json:"preempted_computed_tokens"`
	Finished        []string         `json:"finished"`
	Aborted         []string         `json:"aborted"`
	RunningOrder    *[]string        `json:"running_order"`
	WaitingOrder    *[]string        `json:"waiting_order"`
	KVBlocksSched   *int             `json:"kv_blocks_sched"`
	KVBlocksUsed    int              `json:"kv_blocks_used"`
	KVUsage         float64          `json:"kv_usage"`
	FreeQueue       []int32          `json:"free_queue"`
	BlockIDs        map[string][]int `json:"block_ids"`
	ProcessedBatch  json.RawMessage  `json:"processed_batch"`
}

type traceTotals struct {
	Steps                  int `json:"steps"`
	Preemptions            int `json:"preemptions"`
	PrefixQueries          int `json:"prefix_queries"`
	PrefixHits             int `json:"prefix_hits"`
	PreemptedPrefixQueries int `json:"preempted_prefix_queries"`
	PreemptedPrefixHits    int `json:"preempted_prefix_hits"`
	ScheduledTokens        int `json:"scheduled_tokens"`
	OutputTokens           int `json:"output_tokens"`
}

type traceOutcome struct {
	FirstTokenStep *int    `json:"first_token_step"`
	FinishStep     *int    `json:"finish_step"`
	Reason         *string `json:"reason"`
	OutputTokens   int     `json:"output_tokens"`
	Preemptions    int     `json:"preemptions"`
	CachedTokens   *int    `json:"cached_tokens"`
}

// orderedCounts is a JSON object of numbers whose order matters. nil is absent.
type orderedCounts []count

type count struct {
	ID string
	N  int
}

func (o *orderedCounts) UnmarshalJSON(text []byte) error {
	var counts map[string]int
	if err := json.Unmarshal(text, &counts); err != nil {
		return err
	}
	*o = make(orderedCounts, 0, len(counts))
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end: Unmarshal has found the text whole
		}
		if id, ok := token.(string); ok {
			*o = append(*o, count{id, counts[id]})
		}
	}
}

// Bounds of what a case may ask for, far above what was recorded.
const (
	maxBlocks    = 1 << 20
	maxBlockSize = 1 << 12
	maxTokens    = 1 << 22 // of one context, and of all prompts together
	maxSteps     = 1 << 16
)

// check refuses what would make the replay meaningless or endless.
func (c *traceCase) check() error {
	switch cfg := c.Config; {
	case cfg.MaxNumSeqs < 1, cfg.MaxNumBatchedTokens < 1, cfg.BlockSize < 1, cfg.NumGPUBlocks < 1, cfg.MaxModelLen < 1:
		return fmt.Errorf("config: found a size below 1, expected sizes from 1 on")
	case cfg.NumGPUBlocks > maxBlocks || cfg.BlockSize > maxBlockSize || cfg.MaxModelLen > maxTokens:
		return fmt.Errorf("config: num_gpu_blocks %d, block_size %d, max_model_len %d: expected at most %d, %d, %d",
			cfg.NumGPUBlocks, cfg.BlockSize, cfg.MaxModelLen, maxBlocks, maxBlockSize, maxTokens)
	case cfg.LongPrefillTokenThreshold < 0 || cfg.Watermark < 0 || cfg.Watermark > 1:
		return fmt.Errorf("config: long_prefill_token_threshold %d, watermark %v: expected 0 or more, and 0 to 1", cfg.LongPrefillTokenThreshold, cfg.Watermark)
	case cfg.NullBlocks != 1:
		return fmt.Errorf("config: null_blocks: found %d, expected 1", cfg.NullBlocks)
	case cfg.Policy != "fcfs" && cfg.Policy != "priority":
		return fmt.Errorf("config: policy: found %q, expected fcfs or priority", cfg.Policy)
	}
	seen := map[string]bool{}
	total := 0
	for k, r := range c.Requests {
		if seen[r.ID] {
			return fmt.Errorf("requests[%d]: id %q is there twice", k, r.ID)
		}
		seen[r.ID] = true
		if err := r.check(c, k); err != nil {
			return fmt.Errorf("requests[%d] (%s): %w", k, r.ID, err)
		}
		if total += r.Prompt.Len; total > maxTokens {
			return fmt.Errorf("requests[%d] (%s): the prompts have more than %d tokens", k, r.ID, maxTokens)
		}
	}
	next, steps := 0, 0
	for n, s := range c.Steps {
		if s.I < next || s.Repeat < 0 {
			return fmt.Errorf("steps[%d]: found step %d x %d, expected steps that ascend from %d", n, s.I, s.Repeat, next)
		}
		if s.I > maxSteps || s.Repeat > maxSteps || steps+max(1, s.Repeat) > maxSteps {
			return fmt.Errorf("steps[%d]: found step %d x %d, expected at most %d steps", n, s.I, s.Repeat, maxSteps)
		}
		next = s.I + max(1, s.Repeat)
		steps += max(1, s.Repeat)
	}
	return nil
}

func (r traceRequest) check(c *traceCase, k int) error {
	if r.MaxTokens < 1 || r.ArriveStep < 0 {
		return fmt.Errorf("max_tokens %d, arrive_step %d: expected at least 1 and 0", r.MaxTokens, r.ArriveStep)
	}
	if r.AbortPhase != "" && r.AbortPhase != "mid" {
		return fmt.Errorf("abort_phase: found %q, expected mid", r.AbortPhase)
	}
	length := 0
	for _, g := range r.Prompt.Groups {
		switch {
		case g.Len < 0 || g.Len > maxTokens || (g.Seed == nil) == (g.Out == nil):
			return fmt.Errorf("prompt: expected groups of a length with either seed or out")
		case g.Out != nil && (*g.Out < 0 || *g.Out >= len(c.Requests)):
			return fmt.Errorf("prompt: out names request %d of %d", *g.Out, len(c.Requests))
		}
		length += g.Len
	}
	if length != r.Prompt.Len || length < 1 || length >= c.Config.MaxModelLen {
		return fmt.Errorf("prompt: len %d with groups of %d tokens: expected the same, from 1 to below max_model_len %d", r.Prompt.Len, length, c.Config.MaxModelLen)
	}
	return nil
}

func (r traceRequest) prompt() []uint32 {
	ids := make([]uint32, 0, r.Prompt.Len)
	for _, g := range r.Prompt.Groups {
		for j := range g.Len {
			if g.Out != nil {
				ids = append(ids, recordedOutput(*g.Out).OutputID(j))
			} else {
				s := *g.Seed
				ids = append(ids, uint32((s*7919+j*104729+s*j*31+1)%50000))
			}
		}
	}
	return ids
}

// recordedOutput gives the output tokens of request number k as the recordings
// define them.
type recordedOutput int

// OutputID implements OutputIDs.
func (k recordedOutput) OutputID(m int) uint32 {
	return uint32(50000 + (int(k)*1009+m*7)%40009)
}
