package spec

import (
	"fmt"
	"reflect"
	"testing"
)

func load(t *testing.T, name string, sets ...string) Experiment {
	t.Helper()
	e, err := LoadExperiment(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCellsAreTrialBlocksWithEveryArmOnce(t *testing.T) {
	e := load(t, "batch-gateway")
	cells := e.Cells()
	if want := len(e.Arms) * e.Trials; len(cells) != want {
		t.Fatalf("found %d cells, want %d", len(cells), want)
	}
	seen := map[string]bool{}
	for i, c := range cells {
		trial := i/len(e.Arms) + 1
		want := Cell{i + 1, c.Arm, trial, 42 + int64(trial) - 1, fmt.Sprintf("cells/%s/t%d", c.Arm, trial), fmt.Sprintf("inputs/t%d", trial), c.EstimateSeconds}
		if c != want {
			t.Errorf("found %+v, want %+v", c, want)
		}
		if seen[c.Dir] {
			t.Errorf("%s comes twice", c.Dir)
		}
		seen[c.Dir] = true
	}
}

func TestOrderOfArmsIsDrawnByTheSeed(t *testing.T) {
	order := func(e Experiment) []string {
		var arms []string
		for _, c := range e.Cells() {
			arms = append(arms, c.Arm)
		}
		return arms
	}
	e := load(t, "batch-gateway", "trials=20")
	first := order(e)
	if !reflect.DeepEqual(first, order(e)) {
		t.Error("the same seed gives two orders")
	}
	if reflect.DeepEqual(first, order(load(t, "batch-gateway", "trials=20", "profile.seed=1000"))) {
		t.Error("two seeds give the same order of 80 cells")
	}
	leads := map[string]int{}
	for i := 0; i < len(first); i += len(e.Arms) {
		leads[first[i]]++
	}
	if len(leads) != len(e.Arms) {
		t.Errorf("over 20 trials only %v ever come first", leads)
	}
}

func TestEstimateFollowsTheClock(t *testing.T) {
	wall := load(t, "batch-gateway-ci").Cells()[0].EstimateSeconds
	if wall < 32 || wall > 100 {
		t.Errorf("on the wall clock a cell of ci is estimated at %.0f s, its schedule takes 32", wall)
	}
	if model := load(t, "batch-gateway").Cells()[0].EstimateSeconds; model > 5 {
		t.Errorf("on the virtual clock a cell of default is estimated at %.0f s", model)
	}
	short := load(t, "batch-gateway-ci", "profile.drain.jobs=0s")
	for _, c := range short.Cells() {
		if c.EstimateSeconds != 35 {
			t.Errorf("without a drain %s is estimated at %.1f s, want the schedule and 3 s", c.Arm, c.EstimateSeconds)
		}
	}
}
