package spec

import (
	"fmt"
	"path/filepath"
)

// LoadExperiment resolves an experiment of the catalogue or of a file, the profile
// and the arms that it names included, and applies the assignments key=value:
// those to profile=… and arms=… choose other ones, those to profile.… and arms.…
// change what was chosen, before a sweep makes several of an arm.
func LoadExperiment(nameOrFile string, sets []string) (Experiment, error) {
	assignments, err := parseSets(sets)
	if err != nil {
		return Experiment{}, err
	}
	t, err := experimentKind.load(nameOrFile, "", nil)
	if err != nil {
		return Experiment{}, err
	}
	var early, late []assignment
	for _, a := range assignments {
		if top := a.path[0]; (top == "profile" || top == "profileSet") && len(t.field("points").list()) > 0 {
			return Experiment{}, HintedError{
				fmt.Errorf("experiment %s: found points of a sweep over the profile, expected no --set of the profile: each has its own", t.field("points").at),
				"set it in the experiment that this one was made of",
			}
		}
		if top := a.path[0]; len(a.path) > 1 && (top == "profile" || top == "arms") {
			late = append(late, a)
		} else {
			early = append(early, a)
		}
	}
	if t, err = apply(t, early); err != nil {
		return Experiment{}, err
	}
	if err := resolveParts(t); err != nil {
		return Experiment{}, err
	}
	if t, err = apply(t, late); err != nil {
		return Experiment{}, err
	}
	if err := expandSweep(t); err != nil {
		return Experiment{}, err
	}
	return decodeExperiment(t, false)
}

// ReadExperiment reads an experiment as Marshal wrote it. Unlike LoadExperiment it
// fills in nothing: a missing key is an error, because the defaults of today need
// not be those under which the experiment was started.
func ReadExperiment(path string) (Experiment, error) {
	data, err := readFile(path)
	if err != nil {
		return Experiment{}, fmt.Errorf("experiment %w", err)
	}
	t, err := parseMapping(data, path)
	if err != nil {
		return Experiment{}, fmt.Errorf("experiment %w", err)
	}
	return decodeExperiment(t, true)
}

// resolveParts replaces the names of the profile and the arms by what they stand
// for, with profileSet and armSet laid over.
func resolveParts(t *tree) error {
	profileSet, err := overrides(t.take("profileSet"))
	if err != nil {
		return fmt.Errorf("experiment %w", err)
	}
	armSet := t.take("armSet")
	if profile := t.fields["profile"]; profile != nil {
		resolved, err := profileKind.resolve(profile, profileSet)
		if err != nil {
			return err
		}
		t.put("profile", resolved)
	}
	arms := t.fields["arms"]
	if arms == nil || arms.form != sequenceForm {
		return nil // decode says what it expected
	}
	for i, arm := range arms.items {
		// Each arm takes its own copy: laying one tree over two would tie them together.
		set, err := overrides(armSet.clone())
		if err != nil {
			return fmt.Errorf("experiment %w", err)
		}
		if arms.items[i], err = armKind.resolve(arm, set); err != nil {
			return err
		}
	}
	return nil
}

// resolve loads what ref names, or extends the mapping that stands in its place.
func (k kind) resolve(ref *tree, set []assignment) (*tree, error) {
	var t *tree
	var err error
	switch {
	case ref.form == mappingForm:
		t, err = k.extend(ref, nil)
	case ref.form == scalarForm && ref.text != "":
		t, err = k.load(ref.text, filepath.Dir(ref.at.file), nil)
		if err != nil {
			err = fmt.Errorf("experiment %s: %w", ref.at, err)
		}
	default:
		err = fmt.Errorf("experiment %s: found %s, expected the name of a %s, a file or a mapping", ref.at, ref.describe(), k)
	}
	if err != nil {
		return nil, err
	}
	if t, err = apply(t, set); err != nil {
		return nil, fmt.Errorf("%s %w", k, err)
	}
	return t, nil
}

// clone copies t and everything below it.
func (t *tree) clone() *tree {
	if t == nil {
		return nil
	}
	c := *t
	c.keys = append([]string(nil), t.keys...)
	if t.fields != nil {
		c.fields = make(map[string]*tree, len(t.fields))
		for key, f := range t.fields {
			c.fields[key] = f.clone()
		}
	}
	c.items = make([]*tree, len(t.items))
	for i, item := range t.items {
		c.items[i] = item.clone()
	}
	return &c
}
