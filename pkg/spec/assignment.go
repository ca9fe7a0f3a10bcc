package spec

import (
	"fmt"
	"strings"
	"unicode/utf8"
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
	value, err := parseValue(strings.TrimSpace(raw), at)
	if err != nil {
		return assignment{}, err
	}
	value.reposition(at)
	return assignment{path, value}, nil
}

// parseValue reads what stands after the =. Lists, mappings and quoted text are
// YAML; numbers, true and null mean what they mean there; all else is text as it
// stands, so that nobody has to quote a colon twice.
func parseValue(raw string, at origin) (*tree, error) {
	text := &tree{at: at, scalar: raw, text: raw}
	if raw == "" {
		return text, nil
	}
	value, err := parseTree([]byte(raw), at)
	if strings.ContainsRune(`[{"'`, rune(raw[0])) {
		return value, err
	}
	if !utf8.ValidString(raw) {
		return nil, err
	}
	if err != nil || value.form != scalarForm {
		return text, nil
	}
	if _, isText := value.scalar.(string); isText {
		return text, nil
	}
	return value, nil
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
