package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fileKeys says how the experiment of a results.json and this build differ in the keys that
// they know. An older build lacks keys that this one always writes; a newer one has others.
type fileKeys struct{ lacking, unknown []string }

// keysOf compares the experiment as the file has it with what this build makes of it. A key
// that may be left out is no key that a file lacks.
func keysOf(file []byte, results Results) (fileKeys, error) {
	var has struct {
		Experiment any `json:"experiment"`
	}
	exact := json.NewDecoder(bytes.NewReader(file))
	exact.UseNumber()
	if err := exact.Decode(&has); err != nil {
		return fileKeys{}, err
	}
	known, err := tree(results.Experiment)
	if err != nil {
		return fileKeys{}, err
	}
	return fileKeys{lacking: onlyIn(known, has.Experiment, ""), unknown: onlyIn(has.Experiment, known, "")}, nil
}

// onlyIn lists the keys that a has and b has not, where both have what the key is of. Where
// there is nothing under a key it is no matter who has it.
func onlyIn(a, b any, at string) []string {
	var out []string
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			path := strings.TrimPrefix(at+"."+key, ".")
			if other, ok := y[key]; ok {
				out = append(out, onlyIn(x[key], other, path)...)
			} else if !nothing(x[key]) {
				out = append(out, path)
			}
		}
	case []any:
		y, ok := b.([]any)
		for i := range x {
			if ok && i < len(y) {
				out = append(out, onlyIn(x[i], y[i], fmt.Sprintf("%s.%d", at, i))...)
			}
		}
	}
	return out
}

// ofProfile are the keys of the profile, or of the profiles of points, each once.
func ofProfile(paths []string) []string {
	var out []string
	for _, path := range paths {
		key, ok := strings.CutPrefix(path, "profile.")
		if !ok && strings.HasPrefix(path, "points.") {
			_, key, ok = strings.Cut(path, ".profile.")
		}
		if ok && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

// without takes a key out of a tree.
func without(v any, path string) {
	key, rest, more := strings.Cut(path, ".")
	switch in := v.(type) {
	case map[string]any:
		if !more {
			delete(in, key)
			return
		}
		without(in[key], rest)
	case []any:
		var i int
		if _, err := fmt.Sscan(key, &i); err == nil && more && i < len(in) {
			without(in[i], rest)
		}
	}
}

// KeysOfOne names the keys of the profile that only the baseline or only the current results
// have, because builds of different age wrote them. They were not compared.
func KeysOfOne(baseline []Results, current Results) []string {
	var out []string
	say := func(keys []string, what string) {
		for _, key := range ofProfile(keys) {
			if text := fmt.Sprintf("profile.%s is not compared: %s", key, what); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	for _, b := range baseline {
		say(b.keys.lacking, "an older build wrote the baseline, which does not have it")
		say(b.keys.unknown, "a newer build wrote the baseline, and this one does not know it")
	}
	say(current.keys.lacking, "an older build wrote the results, which do not have it")
	say(current.keys.unknown, "a newer build wrote the results, and this one does not know it")
	return out
}
