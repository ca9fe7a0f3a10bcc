package sim

import (
	"slices"
	"testing"
)

func TestAContinuedCallGeneratesTheRestOfTheSameText(t *testing.T) {
	call := &Call{ID: "a", Prompt: PromptOf([]uint32{5, 6, 7}), MaxTokens: 100, Objective: "batch"}
	whole := call.Output().Text(100)
	for _, cuts := range [][]int{{1}, {99}, {40, 30, 29}, {1, 1, 1}} {
		next, text := call, ""
		for _, n := range cuts {
			text += next.Output().Text(n)
			last := next
			next = next.Continue(n)
			if next.Prompt.Len() != last.Prompt.Len()+n || next.Prompt.ID(last.Prompt.Len()) != last.Output().ID(0) {
				t.Fatalf("after %v: the prompt does not go on with the text", cuts)
			}
		}
		if text += next.Output().Text(next.MaxTokens); text != whole {
			t.Errorf("cut after %v: another text", cuts)
		}
		if next.Objective != "batch" || next.ID != "a" {
			t.Errorf("cut after %v: lost what else the call says: %+v", cuts, next)
		}
	}
	if !slices.Equal(call.Prompt.IDs(), []uint32{5, 6, 7}) || call.MaxTokens != 100 {
		t.Errorf("the call itself has changed: %+v", call)
	}
	if unlimited := (&Call{Prompt: PromptOf([]uint32{1})}).Continue(3); unlimited.MaxTokens != 0 {
		t.Errorf("a call without a limit has got one of %d", unlimited.MaxTokens)
	}
}
