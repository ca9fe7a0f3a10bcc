package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpans(t *testing.T) {
	s := unite([]span{{5, 7}, {1, 3}, {2, 4}, {4, 4.5}, {9, 9}, {7, 6}})
	equal := cmp.AllowUnexported(span{})
	if diff := cmp.Diff(spans{{1, 4.5}, {5, 7}}, s, equal); diff != "" {
		t.Errorf("united: %s", diff)
	}
	if diff := cmp.Diff(spans{{0, 1}, {4.5, 5}, {7, 8}}, s.gaps(span{0, 8}), equal); diff != "" {
		t.Errorf("gaps: %s", diff)
	}
	if diff := cmp.Diff(spans{{4.5, 5}}, s.gaps(span{2, 6}), equal); diff != "" {
		t.Errorf("gaps between two spans: %s", diff)
	}
	if got := s.within(span{4, 6}); got != 1.5 {
		t.Errorf("%v s of 4 to 6 are covered, expected 1.5", got)
	}
}
