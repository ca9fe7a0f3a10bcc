package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// axis is a key of an arm or of the profile over whose values an experiment sweeps.
type axis struct {
	path   []string // in the arm or in the profile
	of     kind     // arm or profile
	at     origin
	list   *tree // as it was written
	values []*tree
	label  string // what the key is called in the names of the points
}

// key is the key as results have it.
func (x axis) key() string {
	key := strings.Join(x.path, ".")
	if x.of == profileKind {
		return join(string(profileKind), key)
	}
	return key
}

func (x axis) faultf(format string, args ...any) error {
	return fmt.Errorf("experiment %s: sweep.%s: %s", x.at, x.key(), fmt.Sprintf(format, args...))
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
	for i, x := range axes {
		if err := x.check(); err != nil {
			return nil, err
		}
		for _, other := range axes[:i] {
			if x.of == other.of && (isPrefix(x.path, other.path) || isPrefix(other.path, x.path)) {
				return nil, x.faultf("found beside sweep.%s, expected keys of which none lies below another", other.key())
			}
			if x.of == other.of && sameElement(x.path, other.path) {
				return nil, x.faultf("found beside sweep.%s, expected elements of one list all by name or all by number: these may be the same", other.key())
			}
		}
	}
	labelAxes(axes)
	return axes, nil
}

func isPrefix(path, of []string) bool {
	return len(path) <= len(of) && slices.Equal(path, of[:len(path)])
}

// sameElement reports whether two paths may lead to one place, or one of them below the
// other, because one has the number of an element where the other has its name.
func sameElement(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && isNumber(a[i]) == isNumber(b[i]) {
			return false
		}
	}
	return true
}

func isNumber(key string) bool {
	_, err := strconv.Atoi(key)
	return err == nil
}

// collectAxes walks down to the lists. A key that is there twice, once from a file and
// once from --set, has the later values.
func collectAxes(t *tree, path []string, axes *[]axis) {
	if t.form == mappingForm && (len(t.keys) > 0 || len(path) == 0) {
		for _, key := range t.keys {
			collectAxes(t.fields[key], append(path[:len(path):len(path)], strings.Split(key, ".")...), axes)
		}
		return
	}
	x := axis{path: path, of: armKind, at: t.at, list: t, values: t.items}
	if rest, ok := profilePath(path); ok {
		x.path, x.of = rest, profileKind
	}
	for i := range *axes {
		if (*axes)[i].key() == x.key() {
			(*axes)[i] = x
			return
		}
	}
	*axes = append(*axes, x)
}

// profilePath is the path of a key in the profile, with profile before it or, where no
// arm begins so, without.
func profilePath(path []string) ([]string, bool) {
	if path[0] == string(profileKind) {
		return path[1:], len(path) > 1
	}
	_, ofArm := structKeys(reflect.TypeFor[Arm]()).index[path[0]]
	_, ofProfile := structKeys(reflect.TypeFor[Profile]()).index[path[0]]
	return path, ofProfile && !ofArm
}

// check refuses what no arm and no profile could make sense of.
func (x axis) check() error {
	root := reflect.TypeFor[Arm]()
	if x.of == profileKind {
		root = reflect.TypeFor[Profile]()
	}
	switch first := x.path[0]; {
	case first == "name" || first == "description" || first == "extends":
		return x.faultf("found %s, expected a key that changes the stack or the workload: the points of a sweep are named by their values", first)
	case first == "seed" && x.of == profileKind:
		return HintedError{x.faultf("found the seed, expected another key: trials are what other seeds give"), "set trials"}
	}
	t, hint := keyType(root, x.path)
	switch {
	case t == nil:
		return HintedError{x.faultf("unknown key"), hint}
	case x.list.form == scalarForm && x.list.scalar != nil:
		return HintedError{x.faultf("found the single value %s, expected a list of values", x.list.describe()), fmt.Sprintf("write [%s]", x.list.text)}
	case x.list.form != sequenceForm:
		return x.faultf("found %s, expected a list of values", x.list.describe())
	case len(x.values) == 0:
		return x.faultf("found no values, expected a list of them")
	}
	return x.checkValues(t)
}

// checkValues holds the values against the type of the key, and against each other: 60s
// is 1m, and 0.60 is 0.6.
func (x axis) checkValues(of reflect.Type) error {
	var seen []map[string]any
	slugs := map[string]bool{}
	for _, v := range x.values {
		slug := v.slug()
		if slug == "" {
			return x.faultf("found %s, expected a value", v.describe())
		}
		values := map[string]any{}
		if faults := decodedLeaves(v, of, "", values); len(faults) > 0 {
			return x.faultf("%s", strings.TrimPrefix(faults[0].path+": "+faults[0].text, ": "))
		}
		for j, other := range seen {
			if reflect.DeepEqual(values, other) {
				if earlier := x.values[j].slug(); earlier != slug {
					return x.faultf("found %s and %s, which are the same value", earlier, slug)
				}
				return x.faultf("found %s twice", slug)
			}
		}
		if slugs[slug] {
			return x.faultf("found two values that are both called %s in the name of an arm", slug)
		}
		seen, slugs[slug] = append(seen, values), true
	}
	return nil
}

// decodedLeaves puts what t sets in a value of type of into values, by key. Keys that a
// mapping does not have are not set.
func decodedLeaves(t *tree, of reflect.Type, path string, values map[string]any) problems {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	v := reflect.New(of)
	if faults, _ := decodeInto(t, v.Interface(), false); len(faults) > 0 || t.form != mappingForm {
		values[path] = v.Elem().Interface()
		return faults
	}
	known := structKeys(of)
	for _, key := range t.keys {
		decodedLeaves(t.fields[key], of.Field(known.index[key]).Type, join(path, key), values)
	}
	return nil
}

// keyType returns the type of the key that path leads to in root, or what it may have
// meant. Lists are entered at any item: whether it is there depends on the arm.
func keyType(root reflect.Type, path []string) (t reflect.Type, hint string) {
	d := decoder{root: root}
	t = root
	for i, key := range path {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Slice {
			t = t.Elem()
			continue
		}
		if t.Kind() != reflect.Struct {
			return nil, fmt.Sprintf("did you mean %s?", strings.Join(path[:i], "."))
		}
		known := structKeys(t)
		at, ok := known.index[key]
		if !ok {
			return nil, d.instead(key, strings.Join(path[:i], "."), known.names)
		}
		t = t.Field(at).Type
	}
	return t, ""
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
