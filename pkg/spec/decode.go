package spec

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// decoder fills Go values from trees. It goes on after a fault, so that a user
// reads all of them at once.
type decoder struct {
	problems problems
	origins  map[string]origin
	root     reflect.Type
	// complete makes a missing key a fault: a frozen file names every one.
	complete bool
}

// decodeInto decodes t into the value that v points to.
func decodeInto(t *tree, v any, complete bool) (problems, map[string]origin) {
	target := reflect.ValueOf(v).Elem()
	d := &decoder{origins: map[string]origin{}, root: target.Type(), complete: complete}
	d.decode(t, target, "")
	return d.problems, d.origins
}

func (d *decoder) decode(t *tree, v reflect.Value, path string) {
	d.origins[path] = t.at
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.decodeText(t, u, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer: // a part that need not be there, but is
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(t, v.Elem(), path)
	case reflect.Interface: // any value
		if plain := t.plain(); plain != nil {
			v.Set(reflect.ValueOf(plain))
		}
	case reflect.Struct:
		if d.expect(t, mappingForm, path) {
			d.decodeStruct(t, v, path)
		}
	case reflect.Slice:
		if d.expect(t, sequenceForm, path) {
			v.Set(reflect.MakeSlice(v.Type(), len(t.items), len(t.items)))
			for i, item := range t.items {
				d.decode(item, v.Index(i), join(path, strconv.Itoa(i)))
			}
		}
	default:
		if d.expect(t, scalarForm, path) && !setScalar(t, v) {
			d.problems.addf(path, "found %s, expected %s", t.describe(), expected(v.Kind()))
		}
	}
}

func (d *decoder) expect(t *tree, f form, path string) bool {
	if t.form != f {
		d.problems.addf(path, "found %s, expected %s", t.describe(), f)
		return false
	}
	return true
}

func (d *decoder) decodeText(t *tree, u encoding.TextUnmarshaler, path string) {
	if t.form != scalarForm || t.scalar == nil {
		d.problems.addf(path, "found %s, expected a single value", t.describe())
		return
	}
	if err := u.UnmarshalText([]byte(t.text)); err != nil {
		d.problems.addf(path, "%v", err)
	}
}

func (d *decoder) decodeStruct(t *tree, v reflect.Value, path string) {
	known := structKeys(v.Type())
	for _, key := range t.keys {
		i, ok := known.index[key]
		if !ok {
			at := join(path, key)
			d.origins[at] = t.fields[key].at
			d.problems.addf(at, "unknown key")
			d.problems.hintLast("%s", d.instead(key, path, known.names))
			continue
		}
		d.decode(t.fields[key], v.Field(i), join(path, key))
	}
	if !d.complete {
		return
	}
	for _, key := range known.required {
		if _, ok := t.fields[key]; !ok {
			d.problems.addf(join(path, key), "missing")
			d.problems.hintLast("a frozen file names every key; bg-gen experiments NAME prints one")
		}
	}
}

// instead says what an unknown key may have meant: the same key elsewhere, or one beside
// it that is spelled alike.
func (d *decoder) instead(key, path string, siblings []string) string {
	if elsewhere := findKey(d.root, key, ""); elsewhere != "" {
		return fmt.Sprintf("did you mean %s?", elsewhere)
	}
	if near := nearest(key, siblings); near != "" {
		return fmt.Sprintf("did you mean %s?", join(path, near))
	}
	return "expected one of " + strings.Join(siblings, ", ")
}

// findKey returns the path of the first key called name in t or below, "" if
// there is none. Lists are entered at their first item.
func findKey(t reflect.Type, name, path string) string {
	switch t.Kind() {
	case reflect.Pointer:
		return findKey(t.Elem(), name, path)
	case reflect.Slice:
		return findKey(t.Elem(), name, join(path, "0"))
	case reflect.Struct:
		for i := range t.NumField() {
			key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			if key == name {
				return join(path, key)
			}
			if found := findKey(t.Field(i).Type, name, join(path, key)); found != "" {
				return found
			}
		}
	}
	return ""
}

// keys are the YAML keys of a struct.
type keys struct {
	names    []string
	required []string // those without omitempty
	index    map[string]int
}

func structKeys(t reflect.Type) keys {
	k := keys{index: map[string]int{}}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		k.names = append(k.names, name)
		k.index[name] = i
		if options != "omitempty" {
			k.required = append(k.required, name)
		}
	}
	return k
}

func setScalar(t *tree, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		// A number is a fine name: model: 4 means "4", as it was written.
		ok := t.scalar != nil && printable(t.text)
		if ok {
			v.SetString(t.text)
		}
		return ok
	case reflect.Bool:
		b, ok := t.scalar.(bool)
		v.SetBool(b)
		return ok
	case reflect.Int, reflect.Int64:
		n, ok := integer(t.scalar)
		if ok = ok && !v.OverflowInt(n); ok {
			v.SetInt(n)
		}
		return ok
	case reflect.Float64:
		f, ok := number(t.scalar)
		v.SetFloat(f)
		return ok
	}
	panic("spec: no rule for fields of kind " + v.Kind().String())
}

// printable reports whether text holds no control characters but line ends and
// tabs: nothing that a terminal or a table would stumble over.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

func integer(scalar any) (int64, bool) {
	switch n := scalar.(type) {
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= math.MaxInt64
	}
	return 0, false
}

func number(scalar any) (float64, bool) {
	switch n := scalar.(type) {
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

func expected(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "text without control characters"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return "a number"
	}
}

// plain is t without where it was written: nil, a bool, an int64, a float64, a string,
// a list or a map.
func (t *tree) plain() any {
	switch t.form {
	case sequenceForm:
		list := []any{}
		for _, item := range t.items {
			list = append(list, item.plain())
		}
		return list
	case mappingForm:
		fields := map[string]any{}
		for _, key := range t.keys {
			fields[key] = t.fields[key].plain()
		}
		return fields
	}
	if n, ok := integer(t.scalar); ok {
		return n
	}
	if f, ok := number(t.scalar); ok {
		return f
	}
	switch t.scalar.(type) {
	case bool, nil:
		return t.scalar
	}
	return t.text
}

// describe names what a tree holds, for an error.
func (t *tree) describe() string {
	switch {
	case t.form != scalarForm:
		return t.form.String()
	case t.scalar == nil:
		return "nothing"
	}
	if s, ok := t.scalar.(string); ok {
		return strconv.Quote(shortened(s))
	}
	return shortened(fmt.Sprint(t.text))
}

// shownLength is how much of a value a message repeats: a file that is no YAML is one value.
const shownLength = 60

func shortened(text string) string {
	if short := []rune(text); len(short) > shownLength {
		return string(short[:shownLength]) + "…"
	}
	return text
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
