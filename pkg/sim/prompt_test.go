package sim

import (
	"slices"
	"testing"
)

func TestAPromptInTwoPlacesReadsAsOne(t *testing.T) {
	start := &Prefix{ids: []uint32{1, 2, 3}, output: noPrompt.after([]uint32{1, 2, 3})}
	two, one := Prompt{start, []uint32{4, 5}}, PromptOf([]uint32{1, 2, 3, 4, 5})
	if two.Len() != 5 || !slices.Equal(two.IDs(), one.IDs()) || OutputOf(two) != OutputOf(one) {
		t.Errorf("found %d ids %d, expected those of %d", two.Len(), two.IDs(), one.IDs())
	}
	for i := range one.Len() {
		if two.ID(i) != one.ID(i) {
			t.Errorf("id %d: found %d, expected %d", i, two.ID(i), one.ID(i))
		}
	}
	for from := range 5 {
		for to := from + 1; to <= 5; to++ {
			want := one.Range(from, to)
			if from < 3 && to > 3 {
				want = nil
			}
			if got := two.Range(from, to); !slices.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("ids %d to %d: found %d, expected %d", from, to, got, want)
			}
		}
	}
	if (Prompt{}).Len() != 0 || len((Prompt{}).IDs()) != 0 {
		t.Error("the zero Prompt has tokens")
	}
}
