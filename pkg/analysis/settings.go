package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// sameSettings holds the settings that a cell was measured with against those of
// experiment.yaml, and names the first key that differs, as --set would.
func sameSettings(name string, measured, declared any) error {
	was, err := tree(measured)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	is, err := tree(declared)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if key, was, is := differing(name, was, is); key != "" {
		return fmt.Errorf("%s: it was measured with %s, experiment.yaml has %s", key, inJSON(was), inJSON(is))
	}
	return nil
}

// tree is v as JSON has it: maps, lists, texts and numbers.
func tree(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	exact := json.NewDecoder(bytes.NewReader(text))
	exact.UseNumber() // a seed may not fit a float64
	return out, exact.Decode(&out)
}

// differing finds the first key, in alphabetical order, at which a and b differ, and
// what they have there. An empty list or map is the same as none.
func differing(key string, a, b any) (string, any, any) {
	if nothing(a) && nothing(b) {
		return "", nil, nil
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return key, a, b
		}
		keys := slices.Sorted(maps.Keys(x))
		for _, k := range slices.Sorted(maps.Keys(y)) {
			if _, ok := x[k]; !ok {
				keys = append(keys, k)
			}
		}
		for _, k := range keys {
			if at, was, is := differing(key+"."+k, x[k], y[k]); at != "" {
				return at, was, is
			}
		}
		return "", nil, nil
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return key, a, b
		}
		for i := range x {
			if at, was, is := differing(fmt.Sprintf("%s.%d", key, i), x[i], y[i]); at != "" {
				return at, was, is
			}
		}
		return "", nil, nil
	}
	if a != b {
		return key, a, b
	}
	return "", nil, nil
}

func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func inJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
