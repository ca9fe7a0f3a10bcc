package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// axis is a key of an arm over whose values an experiment sweeps.
type axis struct {
	path   []string
	at     origin
	values []*tree
	label  string // what the key is called in the names of the points
}

func (x axis) key() string { return strings.Join(x.path, ".") }

// maxArms keeps a slip of the pen from becoming a plan of years.
const maxArms = 1000

// expandSweep replaces the arms by the points of the experiment's sweep, the grid of
// the values of all its keys. The baseline stays one arm, and so does an arm that acts
// the same whatever value a key has: it is what the points are held against.
func expandSweep(t *tree) error {
	axes, err := sweepAxes(t.take("sweep"))
	arms := t.fields["arms"]
	if err != nil || len(axes) == 0 || arms == nil || arms.form != sequenceForm {
		return err
	}
	baseline := t.field("baseline").scalarText()
	var all []*tree
	swept, absent := map[string]bool{}, map[string]error{}
	for _, arm := range arms.items {
		points := []*tree{arm}
		if arm.field("name").scalarText() != baseline {
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
		if all = append(all, points...); len(all) > maxArms {
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
				fmt.Errorf("experiment %s: sweep.%s: found no arm that acts differently, expected one beside the baseline", x.at, x.key()),
				"the baseline is not swept, and an arm's dispatch and kind of router decide which of its keys are read",
			}
		}
	}
	arms.items = all
	return nil
}

// sweepAxes reads sweep: a mapping of keys, dotted or nested, to lists of values.
func sweepAxes(t *tree) ([]axis, error) {
	if t == nil || t.form == scalarForm && t.scalar == nil {
		return nil, nil
	}
	if t.form != mappingForm {
		return nil, fmt.Errorf("experiment %s: sweep: found %s, expected a mapping of keys to lists of values", t.at, t.describe())
	}
	var axes []axis
	collectAxes(t, nil, &axes)
	for i := range axes {
		if err := axes[i].check(); err != nil {
			return nil, err
		}
	}
	labelAxes(axes)
	return axes, nil
}

// collectAxes walks down to the lists. A key that is there twice, once from a file and
// once from --set, has the later values.
func collectAxes(t *tree, path []string, axes *[]axis) {
	if t.form == mappingForm {
		for _, key := range t.keys {
			collectAxes(t.fields[key], append(path[:len(path):len(path)], strings.Split(key, ".")...), axes)
		}
		return
	}
	x := axis{path: path, at: t.at, values: t.items}
	for i := range *axes {
		if (*axes)[i].key() == x.key() {
			(*axes)[i] = x
			return
		}
	}
	*axes = append(*axes, x)
}

// check refuses what no arm could make sense of.
func (x axis) check() error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("experiment %s: sweep.%s: %s", x.at, x.key(), fmt.Sprintf(format, args...))
	}
	switch x.path[0] {
	case "name", "description", "extends":
		return fault("found %s, expected a key that changes the stack: the points of a sweep are named by their values", x.path[0])
	}
	if hint, ok := knownKey(reflect.TypeFor[Arm](), x.path); !ok {
		if p := strings.TrimPrefix(x.key(), "profile."); p != x.key() || isProfileKey(x.path) {
			return HintedError{
				fault("found a key of the profile, expected one of an arm: all arms of a trial replay the same inputs"),
				fmt.Sprintf("run the experiment once a value, each in a folder of its own: --set profile.%s=VALUE", p),
			}
		}
		return HintedError{fault("unknown key"), hint}
	}
	if len(x.values) == 0 {
		return fault("found no values, expected a list of them")
	}
	seen := map[string]bool{}
	for _, v := range x.values {
		s := v.slug()
		if s == "" {
			return fault("found %s, expected a value", v.describe())
		}
		if seen[s] {
			return fault("found %s twice", s)
		}
		seen[s] = true
	}
	return nil
}

func isProfileKey(path []string) bool {
	_, ok := knownKey(reflect.TypeFor[Profile](), path)
	return ok
}

// knownKey reports whether path leads to a key of t, or what it may have meant. Lists
// are entered at any item: whether it is there depends on the arm.
func knownKey(t reflect.Type, path []string) (hint string, ok bool) {
	d := decoder{root: t}
	for i, key := range path {
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
		case reflect.Slice:
			t = t.Elem()
			continue
		}
		if t.Kind() != reflect.Struct {
			return fmt.Sprintf("did you mean %s?", strings.Join(path[:i], ".")), false
		}
		known := structKeys(t)
		at, ok := known.index[key]
		if !ok {
			return d.instead(key, strings.Join(path[:i], "."), known.names), false
		}
		t = t.Field(at).Type
	}
	return "", true
}

// labelAxes calls each key by as many of its last words as tell it from the others.
func labelAxes(axes []axis) {
	tail := func(x axis, n int) string { return strings.Join(x.path[max(0, len(x.path)-n):], "-") }
	for i := range axes {
		n := 1
		for j := range axes {
			for j != i && n < len(axes[i].path) && tail(axes[i], n) == tail(axes[j], n) {
				n++
			}
		}
		axes[i].label = tail(axes[i], n)
	}
}

// slug writes a value as a part of a name: 0.5, true, 0.5-1 for a mapping of two.
func (t *tree) slug() string {
	var parts []string
	switch t.form {
	case scalarForm:
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("._", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '-'
		}, t.text)
	case mappingForm:
		for _, key := range t.keys {
			parts = append(parts, t.fields[key].slug())
		}
	case sequenceForm:
		for _, item := range t.items {
			parts = append(parts, item.slug())
		}
	}
	return strings.Join(parts, "-")
}

func (t *tree) scalarText() string {
	if t == nil {
		return ""
	}
	return t.text
}

// fitting returns the axes whose keys arm has: an item of a list may be in one arm and
// not in another. absent takes what is said of the others.
func fitting(arm *tree, axes []axis, absent map[string]error) []axis {
	var own []axis
	for _, x := range axes {
		if _, err := grid(arm, []axis{x}); err != nil {
			absent[x.key()] = err
			continue
		}
		own = append(own, x)
	}
	return own
}

// concerning returns the axes that change how arm acts, anywhere on the grid.
func concerning(arm *tree, axes []axis) ([]axis, error) {
	var own []axis
	for i, x := range axes {
		others := append(append([]axis(nil), axes[:i]...), axes[i+1:]...)
		rest, err := grid(arm, others)
		if err != nil {
			return nil, err
		}
		for _, point := range rest {
			differs, err := actsDifferently(point, x)
			if err != nil {
				return nil, err
			}
			if differs {
				own = append(own, x)
				break
			}
		}
	}
	return own, nil
}

func actsDifferently(arm *tree, x axis) (bool, error) {
	points, err := grid(arm, []axis{x})
	if err != nil {
		return false, err
	}
	var without Arm
	for i, point := range append([]*tree{arm}, points...) {
		var a Arm
		if faults, _ := decodeInto(point, &a, false); len(faults) > 0 {
			return true, nil // for the decoding of the experiment to tell
		}
		a = a.inForce()
		if i == 0 {
			without = a
		} else if !reflect.DeepEqual(a, without) {
			return true, nil
		}
	}
	return false, nil
}

// grid returns the points of arm on all combinations of the axes' values, the last
// axis changing fastest: arm itself where there is no axis.
func grid(arm *tree, axes []axis) ([]*tree, error) {
	if len(axes) == 0 {
		return []*tree{arm}, nil
	}
	points := []point{{arm: arm}}
	for _, x := range axes {
		var next []point
		for _, p := range points {
			for _, v := range x.values {
				q, err := p.with(x, v)
				if err != nil {
					return nil, err
				}
				next = append(next, q)
			}
		}
		if points = next; len(points) > maxArms {
			return nil, fmt.Errorf("experiment %s: sweep: found more than %d points, expected fewer values", axes[0].at, maxArms)
		}
	}
	var arms []*tree
	for _, p := range points {
		arms = append(arms, p.named(arm))
	}
	return arms, nil
}

// point is an arm with some of the axes fixed.
type point struct {
	arm           *tree
	labels, slugs []string // of the axes and their values
	said          []string
}

func (p point) with(x axis, v *tree) (point, error) {
	arm, err := p.arm.clone().set(x.path, v.clone())
	if err != nil {
		return point{}, fmt.Errorf("experiment %s: sweep.%s: %w", v.at, x.key(), err)
	}
	return point{
		arm:    arm,
		labels: append(p.labels[:len(p.labels):len(p.labels)], x.label),
		slugs:  append(p.slugs[:len(p.slugs):len(p.slugs)], v.slug()),
		said:   append(p.said[:len(p.said):len(p.said)], x.key()+" "+v.slug()),
	}, nil
}

// named calls the point by its values, without their keys where the name would be too
// long for a file.
func (p point) named(arm *tree) *tree {
	name := arm.field("name").scalarText()
	full, short := name, name
	for i, slug := range p.slugs {
		full += "-" + p.labels[i] + "-" + slug
		short += "-" + slug
	}
	if !safeName.MatchString(full) {
		full = short
	}
	description := strings.Join(p.said, ", ")
	if of := arm.field("description").scalarText(); of != "" {
		description = of + "; " + description
	}
	p.arm.put("name", &tree{at: arm.at, scalar: full, text: full})
	p.arm.put("description", &tree{at: arm.at, scalar: description, text: description})
	return p.arm
}
