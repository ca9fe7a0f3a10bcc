package analysis

import "testing"

func TestOneThingIsNoPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 trials", 1: "1 trial", 2: "2 trials"} {
		if got := Plural(n, "trial"); got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	}
}
