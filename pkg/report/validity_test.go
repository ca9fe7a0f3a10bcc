package report

import "testing"

func TestFoldKeepsTheAnswerOnTheScreen(t *testing.T) {
	texts := make([]string, 40)
	for _, tc := range []struct{ warnings, first, rest int }{
		{0, 0, 0}, {1, 1, 0}, {7, 7, 0}, {8, 6, 2}, {40, 6, 34},
	} {
		got := fold(texts[:tc.warnings])
		if len(got.First) != tc.first || len(got.Rest) != tc.rest {
			t.Errorf("%d warnings: %d open and %d folded, want %d and %d",
				tc.warnings, len(got.First), len(got.Rest), tc.first, tc.rest)
		}
	}
}
