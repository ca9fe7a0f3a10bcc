package spec

import (
	"fmt"
	"path"
	"strings"
)

// Point is one workload of a sweep over keys of the profile. The arms of a point replay
// the same inputs and are compared with the baseline of the point: under another
// workload nothing of them is paired.
type Point struct {
	Name     string  `yaml:"name" json:"name"`         // that of the folder of its inputs
	Baseline string  `yaml:"baseline" json:"baseline"` // the arm that its others are compared with
	Profile  Profile `yaml:"profile" json:"profile"`   // its workload
}

// Swept says what a sweep made of an arm.
type Swept struct {
	Arm     string   `yaml:"arm" json:"arm"`                             // an arm of the experiment
	Of      string   `yaml:"of" json:"of"`                               // the arm that was swept
	Point   string   `yaml:"point,omitempty" json:"point,omitempty"`     // whose inputs it replays
	Factors []Factor `yaml:"factors,omitempty" json:"factors,omitempty"` // in the order of the sweep, those of the profile last
}

// Factor is a key and the value that a sweep gave it: a number, a text, true or false,
// or a list. Keys of the profile begin with profile.
type Factor struct {
	Key   string `yaml:"key" json:"key"`     // a key of the arm; one of the profile has profile. before it
	Value any    `yaml:"value" json:"value"` // what the sweep set
}

func (f Factor) String() string { return fmt.Sprintf("%s %v", f.Key, f.Value) }

// SweptOf says what a sweep made of the arm, nothing where none did.
func (e Experiment) SweptOf(arm string) Swept {
	for _, s := range e.Swept {
		if s.Arm == arm {
			return s
		}
	}
	return Swept{}
}

// Point returns the point called name.
func (e Experiment) Point(name string) (Point, bool) {
	for _, p := range e.Points {
		if p.Name == name {
			return p, true
		}
	}
	return Point{}, false
}

// Workload is the point called name, or what stands for one, with an empty name, where
// no key of the profile is swept.
func (e Experiment) Workload(name string) (Point, error) {
	if name == "" && len(e.Points) == 0 {
		return Point{Baseline: e.Baseline, Profile: e.Profile}, nil
	}
	var known []string
	for _, p := range e.Points {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	if len(known) == 0 {
		return Point{}, fmt.Errorf("found %q, expected none: experiment %s sweeps no key of its profile", name, e.Name)
	}
	return Point{}, fmt.Errorf("found %q, expected one of %s, the points of experiment %s", name, strings.Join(known, ", "), e.Name)
}

// ProfileOf is the profile under which the arm runs: that of its point, or the one of
// the experiment where no key of the profile is swept.
func (e Experiment) ProfileOf(arm string) Profile {
	if p, ok := e.Point(e.SweptOf(arm).Point); ok {
		return p.Profile
	}
	return e.Profile
}

// Profiles are those under which arms run: one, or that of each point.
func (e Experiment) Profiles() []Profile {
	if len(e.Points) == 0 {
		return []Profile{e.Profile}
	}
	var all []Profile
	for _, p := range e.Points {
		all = append(all, p.Profile)
	}
	return all
}

// BaselineOf is the name of the arm that the arm is compared with.
func (e Experiment) BaselineOf(arm string) string {
	if p, ok := e.Point(e.SweptOf(arm).Point); ok {
		return p.Baseline
	}
	return e.Baseline
}

// InputsOf is the folder of the inputs that the arm replays in a trial, relative to the
// experiment.
func (e Experiment) InputsOf(arm string, trial int) string {
	return path.Join("inputs", e.SweptOf(arm).Point, fmt.Sprintf("t%d", trial))
}

// pointProblems holds together what a sweep wrote: every arm stands at a point, where
// there are points, and finds its baseline there.
func (e Experiment) pointProblems(is *problems) {
	var seen names
	for i, p := range e.Points {
		at := join("points", fmt.Sprint(i))
		seen.add(is, join(at, "name"), p.Name)
		_, ok := e.Arm(p.Baseline)
		is.check(ok && e.SweptOf(p.Baseline).Point == p.Name, join(at, "baseline"), "found %q, expected an arm of point %s", p.Baseline, p.Name)
	}
	known := map[string]bool{}
	for i, s := range e.Swept {
		at := join("swept", fmt.Sprint(i))
		_, isArm := e.Arm(s.Arm)
		is.check(isArm, join(at, "arm"), "found %q, expected one of the arms", s.Arm)
		is.check(!known[s.Arm], join(at, "arm"), "%q stands there twice", s.Arm)
		known[s.Arm] = true
		_, isPoint := e.Point(s.Point)
		is.check(s.Point == "" || isPoint, join(at, "point"), "found %q, expected one of the points", s.Point)
	}
	for i, a := range e.Arms {
		is.check(len(e.Points) == 0 || e.SweptOf(a.Name).Point != "", join("arms", fmt.Sprint(i)), "%s stands at none of the points", a.Name)
	}
}

// said is what tells the arm from others of the sweep, for an error.
func (s Swept) said() string {
	var all []string
	for _, f := range s.Factors {
		all = append(all, "sweep."+f.String())
	}
	return strings.Join(all, ", ")
}
