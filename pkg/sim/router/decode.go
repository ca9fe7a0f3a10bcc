package router

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// decoder fills structs from YAML as encoding/json does with strict decoding on:
// the first value of a wrong type ends it, unknown fields are collected.
type decoder struct {
	unknown []string
	line    int // of the first unknown field
	names   []string
	failure error // of a wrong type
	at      int   // its line
}

// decodeStrict fills the struct that target points to. The texts of its errors are
// those of encoding/json.
func decodeStrict(v *value, target any) (line int, err error) {
	d := &decoder{}
	d.decode(v, reflect.ValueOf(target).Elem(), "", "")
	switch {
	case d.failure != nil:
		return d.at, d.failure
	case len(d.unknown) > 0:
		return d.line, unknownFields{d.unknown, d.names}
	}
	return 0, nil
}

// unknownFields lists fields that a struct does not have, and those that it has.
type unknownFields struct {
	paths []string
	known []string // siblings of the first
}

func (u unknownFields) Error() string {
	quoted := make([]string, len(u.paths))
	for i, path := range u.paths {
		quoted[i] = fmt.Sprintf("unknown field %q", path)
	}
	return strings.Join(quoted, ", ")
}

func (d *decoder) mismatch(v *value, path, owner, want string) {
	if d.failure != nil {
		return
	}
	got := v.jsonType()
	if got == "number" && strings.HasPrefix(want, "int") {
		got = fmt.Sprintf("number %v", v.scalar)
	}
	field := path
	if owner != "" {
		field = owner + "." + path
	}
	d.failure = fmt.Errorf("json: cannot unmarshal %s into Go struct field %s of type %s", got, field, want)
	d.at = v.line
}

func (d *decoder) decode(v *value, target reflect.Value, path, owner string) {
	if v.isNull() || d.failure != nil {
		return
	}
	if target.Type() == reflect.TypeFor[*value]() {
		target.Set(reflect.ValueOf(v))
		return
	}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		d.decode(v, target.Elem(), path, owner)
		return
	}
	if u, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(v, u, path, owner)
		return
	}
	switch target.Kind() {
	case reflect.Struct:
		d.fields(v, target, path, owner)
	case reflect.Slice:
		if v.form != listForm {
			d.mismatch(v, path, owner, target.Type().String())
			return
		}
		target.Set(reflect.MakeSlice(target.Type(), len(v.items), len(v.items)))
		for i, item := range v.items {
			d.decode(item, target.Index(i), fmt.Sprintf("%s[%d]", path, i), owner)
		}
	default:
		if v.form != scalarForm || !setScalar(target, v.scalar) {
			d.mismatch(v, path, owner, target.Type().String())
		}
	}
}

// text decodes a value that has a text form of its own. Quantities may be written
// as numbers, durations may not.
func (d *decoder) text(v *value, u encoding.TextUnmarshaler, path, owner string) {
	text, ok := v.scalar.(string)
	if !ok {
		_, isQuantity := u.(*quantity)
		if !isQuantity || v.jsonType() != "number" {
			d.mismatch(v, path, owner, "string")
			return
		}
		text = fmt.Sprint(v.scalar)
	}
	if err := u.UnmarshalText([]byte(text)); err != nil && d.failure == nil {
		d.failure, d.at = err, v.line
	}
}

func (d *decoder) fields(v *value, target reflect.Value, path, owner string) {
	t := target.Type()
	name := exported(t.Name())
	if v.form != mappingForm {
		d.mismatch(v, path, owner, name)
		return
	}
	for _, key := range v.keys {
		full := key
		if path != "" {
			full = path + "." + key
		}
		field, names := fieldNamed(t, key)
		if field < 0 {
			if len(d.unknown) == 0 {
				d.line, d.names = v.fields[key].line, names
			}
			d.unknown = append(d.unknown, full)
			continue
		}
		d.decode(v.fields[key], target.Field(field), full, name)
	}
}

// exported is a type's name as upstream, where it is exported.
func exported(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// fieldNamed finds the field with a JSON name, case and all, and lists the names.
func fieldNamed(t reflect.Type, key string) (field int, names []string) {
	field = -1
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("json")
		names = append(names, name)
		if name == key {
			field = i
		}
	}
	return field, names
}

func setScalar(target reflect.Value, scalar any) bool {
	switch target.Kind() {
	case reflect.String:
		s, ok := scalar.(string)
		target.SetString(s)
		return ok
	case reflect.Bool:
		b, ok := scalar.(bool)
		target.SetBool(b)
		return ok
	case reflect.Int, reflect.Int64:
		switch n := scalar.(type) {
		case int64:
			target.SetInt(n)
			return true
		case float64:
			// YAML's 3.0 becomes JSON's 3 on its way.
			target.SetInt(int64(n))
			return n == math.Trunc(n) && math.Abs(n) < 1<<53
		}
	case reflect.Float64:
		switch n := scalar.(type) {
		case int64:
			target.SetFloat(float64(n))
			return true
		case uint64:
			target.SetFloat(float64(n))
			return true
		case float64:
			target.SetFloat(n)
			return !math.IsNaN(n) && !math.IsInf(n, 0)
		}
	}
	return false
}
