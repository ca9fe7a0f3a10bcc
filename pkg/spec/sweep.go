package spec

import (
	"fmt"
	"slices"
)

// maxArms keeps a slip of the pen from becoming a plan of years.
const maxArms = 1000

// expandSweep replaces the arms by the points of the experiment's sweep, the grid of
// the values of all its keys.
//
// Over keys of an arm the baseline stays one arm, and so does an arm that acts the same
// whatever value a key has: it is what the points are held against. Over keys of the
// profile every arm is there at every point, the baseline too, because only arms that
// replay the same inputs can be compared.
func expandSweep(t *tree) error {
	axes, err := sweepAxes(t.take("sweep"))
	arms, profile := t.fields["arms"], t.fields["profile"]
	if err != nil || len(axes) == 0 || profile == nil || !decodable(arms) {
		return err // what does not decode is told where it was written, before a sweep repeats it
	}
	if len(t.field("points").list())+len(t.field("swept").list()) > 0 {
		return fmt.Errorf("experiment %s: sweep: found points of a sweep beside it, expected an experiment that was not swept yet", axes[0].at)
	}
	var ofArms, ofProfile []axis
	for _, x := range axes {
		if x.of == profileKind {
			ofProfile = append(ofProfile, x)
		} else {
			ofArms = append(ofArms, x)
		}
	}
	s := sweep{baseline: t.field("baseline").scalarText()}
	if err := s.sweepArms(arms.items, ofArms); err != nil {
		return err
	}
	if !s.hasBaseline() {
		ofProfile = nil // no point would have one: the rules of the experiment tell
	}
	if s.workloads, err = grid(profile, ofProfile); err != nil {
		return err
	}
	if len(s.arms)*len(s.workloads) > maxArms {
		return fmt.Errorf("experiment %s: sweep: found more than %d arms, expected fewer values", axes[0].at, maxArms)
	}
	s.write(t)
	return nil
}

// decodable reports whether all of a list of arms decode.
func decodable(arms *tree) bool {
	if arms == nil || arms.form != sequenceForm {
		return false
	}
	for _, arm := range arms.items {
		if faults, _ := decodeInto(arm, new(Arm), false); len(faults) > 0 {
			return false
		}
	}
	return true
}

// sweep is the grid: each of the arms under each of the workloads.
type sweep struct {
	baseline  string
	arms      []gridPoint
	workloads []gridPoint // one, with nothing fixed, where no key of the profile is swept
}

func (s *sweep) hasBaseline() bool {
	return slices.ContainsFunc(s.arms, func(a gridPoint) bool { return a.armName() == s.baseline })
}

// sweepArms makes the points of the arms.
func (s *sweep) sweepArms(arms []*tree, axes []axis) error {
	swept, absent := map[string]bool{}, map[string]error{}
	for _, arm := range arms {
		points := []gridPoint{{of: arm}}
		if arm.field("name").scalarText() != s.baseline {
			own, err := concerning(arm, fitting(arm, axes, absent))
			if err != nil {
				return err
			}
			for _, x := range own {
				swept[x.key()] = true
			}
			if points, err = grid(arm, own); err != nil {
				return err
			}
		}
		if s.arms = append(s.arms, points...); len(s.arms) > maxArms {
			return fmt.Errorf("experiment %s: sweep: found more than %d arms, expected fewer values", axes[0].at, maxArms)
		}
	}
	for _, x := range axes {
		switch err := absent[x.key()]; {
		case swept[x.key()]:
		case err != nil:
			return err
		default:
			return HintedError{
				x.faultf("found no arm that acts differently, expected one beside the baseline"),
				"the baseline is not swept, and an arm's dispatch and kind of router decide which of its keys are read",
			}
		}
	}
	return nil
}

// write puts the grid into the experiment: its arms workload by workload, what the
// sweep made of each, and the points of the profile.
func (s *sweep) write(t *tree) {
	arms, points, swept := &tree{form: sequenceForm}, &tree{form: sequenceForm}, &tree{form: sequenceForm}
	var chains []*tree
	for _, w := range s.workloads {
		point := w.name("")
		names := map[string]string{} // at this point, of the arms
		for _, a := range s.arms {
			at := gridPoint{a.of, append(a.fixed[:len(a.fixed):len(a.fixed)], w.fixed...)}
			name := at.armName()
			names[a.armName()] = name
			arm := a.of.clone()
			if len(at.fixed) > 0 {
				// Without a description of its own an arm is described by its values.
				arm.put("name", textTree(name, a.of.at))
				arm.put("description", textTree(at.description(), a.of.at))
				swept.items = append(swept.items, at.record(point))
			}
			arms.items = append(arms.items, arm)
		}
		if point != "" {
			points.items = append(points.items, mappingTree(w.of.at,
				field{"name", textTree(point, w.of.at)}, field{"baseline", textTree(names[s.baseline], w.of.at)}, field{"profile", w.of}))
			chains = append(chains, chainsAt(t.field("chains"), point, names)...)
		}
	}
	t.put("arms", arms)
	if len(points.items) > 0 {
		t.put("points", points)
	}
	if len(chains) > 0 {
		t.field("chains").items = chains
	}
	if len(swept.items) > 0 {
		t.put("swept", swept)
	}
}

// chainsAt are the chains of arms at a point of the profile, where the arms have the
// names given.
func chainsAt(chains *tree, point string, names map[string]string) []*tree {
	var all []*tree
	for _, chain := range chains.list() {
		c := chain.clone()
		if c.form == mappingForm {
			name := c.field("name").scalarText() + "-" + point
			c.put("name", textTree(name, c.at))
			for i, arm := range c.field("arms").list() {
				if at, ok := names[arm.text]; ok {
					c.field("arms").items[i] = textTree(at, arm.at)
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// record says what the sweep made of an arm.
func (p gridPoint) record(point string) *tree {
	factors := &tree{form: sequenceForm}
	for _, f := range p.fixed {
		factors.items = append(factors.items, f.value.factors(f.key())...)
	}
	at := p.of.at
	fields := []field{{"arm", textTree(p.armName(), at)}, {"of", p.of.field("name")}}
	if point != "" {
		fields = append(fields, field{"point", textTree(point, at)})
	}
	return mappingTree(at, append(fields, field{"factors", factors})...)
}

// factors are the keys that a value sets: those below key where it is a mapping.
func (t *tree) factors(key string) []*tree {
	if t.form != mappingForm {
		return []*tree{mappingTree(t.at, field{"key", textTree(key, t.at)}, field{"value", t})}
	}
	var all []*tree
	for _, name := range t.keys {
		all = append(all, t.fields[name].factors(join(key, name))...)
	}
	return all
}
