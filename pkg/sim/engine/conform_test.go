package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The cases were recorded from vLLM's own scheduler classes at commit
// 017e9f4448b700e85ee16023287b025693c72b9e with a mocked model runner: cases has
// one rule a file, random mixes what cases has apart (async scheduling with the
// priority policy, idle gaps, small contexts, odd blocks).
func TestTheSchedulerEqualsVLLMStepForStep(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 88 {
		t.Fatalf("found %d cases, expected 88 and more", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			diffs, err := Conform(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range diffs {
				t.Error(d)
			}
		})
	}
}

// A mistake in any field must be noticed where it was made.
func TestConformFindsWhatDiffers(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"001_decode_single", `"scheduled":{"a":1}`, `"scheduled":{"a":2}`, "scheduled"},
		{"002_decode_batch8", `"running_order":["r0","r1"`, `"running_order":["r1","r0"`, "running_order"},
		{"035_preempt_last", `"preempted":["b"]`, `"preempted":["a"]`, "preempted"},
		{"035_preempt_last", `{"b":128}`, `{"b":127}`, "preempted_computed_tokens"},
		{"035_preempt_last", `"waiting_order":["b"]`, `"waiting_order":[]`, "waiting_order"},
		{"035_preempt_last", `"resumed":["b"]`, `"new":["b"]`, "new"},
		{"035_preempt_last", `"cached_tokens_of_new":{"b":0}`, `"cached_tokens_of_new":{"b":16}`, "cached_tokens_of_new"},
		{"035_preempt_last", `"kv_blocks_sched":16`, `"kv_blocks_sched":15`, "kv_blocks_sched"},
		{"035_preempt_last", `"kv_blocks_used":16`, `"kv_blocks_used":15`, "kv_blocks_used"},
		{"035_preempt_last", `"kv_usage":0.5625`, `"kv_usage":0.5626`, "kv_usage"},
		{"035_preempt_last", `"repeat":16`, `"repeat":15`, "i"},
		{"035_preempt_last", `"finished":["a"]`, `"finished":[]`, "finished"},
		{"035_preempt_last", `"scheduled_tokens":446`, `"scheduled_tokens":445`, "totals"},
		{"035_preempt_last", `"finish_step":90`, `"finish_step":89`, "outcomes.b"},
		{"035_preempt_last", `{"i":90,`, `{"i":91,`, "i"},
		{"062_prefix_touch_refresh", `"free_queue":[5,6`, `"free_queue":[6,5`, "free_queue"},
		{"062_prefix_touch_refresh", `"block_ids":{"a":[1,2`, `"block_ids":{"a":[2,1`, "block_ids"},
		{"074_abort_prefill_reuse", `"aborted":["a"]`, `"aborted":[]`, "aborted"},
		{"103_async_preempt", `"processed_batch":null`, `"processed_batch":0`, "processed_batch"},
		{"031_kv_prompt_longer_than_cache", `"stuck":["huge","later"]`, `"stuck":["huge"]`, "stuck"},
		{"001_decode_single", `"arrived":["a"]`, `"arrived":[]`, "arrived"},
		{"001_decode_single", `"async_scheduling":false`, `"async_scheduling":true`, "processed_batch"},
	} {
		t.Run(c.file+" "+c.new, func(t *testing.T) {
			text, err := os.ReadFile("testdata/cases/" + c.file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.old, c.new, 1)
			if changed == string(text) {
				t.Fatalf("the case has no %s", c.old)
			}
			diffs, err := Conform([]byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range diffs {
				if d.Field == c.want {
					return
				}
			}
			t.Errorf("got differences %v, want one in %s", diffs, c.want)
		})
	}
}

func TestConformRefusesWhatIsNoCase(t *testing.T) {
	text, err := os.ReadFile("testdata/cases/001_decode_single.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"cut short", `"totals"`, "", "reading an engine case"},
		{"an unknown field", `"why"`, `"because"`, `unknown field "because"`},
		{"a policy that vLLM does not have", `"policy":"fcfs"`, `"policy":"lifo"`, `policy: found "lifo", expected fcfs or priority`},
		{"no block size", `"block_size":16`, `"block_size":0`, "found a size below 1"},
		{"a cache of the whole world", `"num_gpu_blocks":513`, `"num_gpu_blocks":99999999999`, "expected at most"},
		{"steps that go back", `"i":1,`, `"i":0,`, "expected steps that ascend from 1"},
		{"a prompt that is not as long as it says", `"prompt":{"len":`, `"prompt":{"len":9`, "expected the same"},
		{"an unknown phase", `"priority":0`, `"priority":0,"abort_step":1,"abort_phase":"late"`, `abort_phase: found "late", expected mid`},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(string(text), c.old, c.new, 1)
			if changed == string(text) {
				t.Fatalf("the case has no %s", c.old)
			}
			if _, err := Conform([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func FuzzConform(f *testing.F) {
	for _, name := range []string{"001_decode_single", "035_preempt_last", "058_prefix_output_multi_turn", "104_async_abort", "130_prio_self_victim_empty_step"} {
		text, err := os.ReadFile("testdata/cases/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		diffs, err := Conform(text)
		if err != nil && len(diffs) > 0 {
			t.Errorf("got an error and differences: %v, %v", err, diffs)
		}
	})
}
