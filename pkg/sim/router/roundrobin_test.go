package router

import (
	"slices"
	"testing"

	"bgbench/pkg/sim"
)

type named struct {
	name string
	log  *[]string
}

func (n named) Submit(*sim.Call, sim.Reply) func() {
	*n.log = append(*n.log, n.name)
	return func() { *n.log = append(*n.log, "abort "+n.name) }
}

func TestCallsGoToTheBackendsInTurn(t *testing.T) {
	var log []string
	r := NewRoundRobin([]sim.Backend{named{"a", &log}, named{"b", &log}})
	r.Submit(nil, nil)
	r.Submit(nil, nil)()
	r.Submit(nil, nil)
	if want := []string{"a", "b", "abort b", "a"}; !slices.Equal(log, want) {
		t.Errorf("got %v, want %v", log, want)
	}
}
