package spec

import (
	"fmt"
	"strings"
)

// assignment is one a.b.0.c=value, from --set or from a list in an experiment.
type assignment struct {
	path  []string
	value *tree
}

// parseAssignment parses text; errors and the value's position say at.
func parseAssignment(text string, at origin) (assignment, error) {
	key, raw, ok := strings.Cut(text, "=")
	if !ok {
		return assignment{}, fmt.Errorf("%s: found no =, expected key=value", at)
	}
	path := strings.Split(strings.TrimSpace(key), ".")
	for _, segment := range path {
		if segment == "" || strings.TrimSpace(segment) != segment {
			return assignment{}, fmt.Errorf("%s: found the key %q, expected names joined by dots such as prompt.isl.mean", at, key)
		}
	}
	if strings.TrimSpace(raw) == "" {
		return assignment{path, &tree{at: at, scalar: "", text: ""}}, nil
	}
	value, err := parseTree([]byte(raw), at)
	if err != nil {
		return assignment{}, err
	}
	value.reposition(at)
	return assignment{path, value}, nil
}

func parseSets(sets []string) ([]assignment, error) {
	var all []assignment
	for _, s := range sets {
		a, err := parseAssignment(s, origin{assignment: s})
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// reposition says that all of t was written at one place.
func (t *tree) reposition(at origin) {
	t.at = at
	for _, f := range t.fields {
		f.reposition(at)
	}
	for _, item := range t.items {
		item.reposition(at)
	}
}

// apply makes the assignments in their order.
func apply(t *tree, all []assignment) (*tree, error) {
	for _, a := range all {
		var err error
		if t, err = t.set(a.path, a.value); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", a.value.at, strings.Join(a.path, "."), err)
		}
	}
	return t, nil
}

// overrides reads profileSet or armSet: a list of key=value, or a mapping whose
// keys may be dotted paths and whose values are laid over what they lead to.
func overrides(t *tree) ([]assignment, error) {
	switch {
	case t == nil:
		return nil, nil
	case t.form == mappingForm:
		var all []assignment
		for _, key := range t.keys {
			all = append(all, assignment{strings.Split(key, "."), t.fields[key]})
		}
		return all, nil
	case t.form == sequenceForm:
		var all []assignment
		for _, item := range t.items {
			text, ok := item.scalar.(string)
			if !ok {
				return nil, fmt.Errorf("%s: found %s, expected key=value", item.at, item.describe())
			}
			a, err := parseAssignment(text, item.at)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s: found %s, expected a list of key=value or a mapping", t.at, t.describe())
}
