package interop

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// configSection is a mapping of a configuration file. It remembers which of its keys
// were asked for: the others have no counterpart here.
type configSection struct {
	path  string
	keys  map[string]any
	taken map[string]bool
	c     *converter
}

// converter gathers what is wrong and what is left.
type converter struct {
	faults []string
	left   []Unsupported
}

// Unsupported is a key that a conversion could not carry over as it is.
type Unsupported struct {
	Key  string
	Text string // what became of it
}

func (u Unsupported) String() string { return u.Key + ": " + u.Text }

func (c *converter) fault(key, format string, args ...any) {
	c.faults = append(c.faults, key+": "+fmt.Sprintf(format, args...))
}

func (c *converter) leave(key, format string, args ...any) {
	c.left = append(c.left, Unsupported{key, fmt.Sprintf(format, args...)})
}

func (c *converter) err(file string) error {
	if len(c.faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", file, strings.Join(c.faults, "\n"+file+": "))
}

func (c *converter) section(path string, v any) *configSection {
	s := &configSection{path: path, taken: map[string]bool{}, c: c}
	if v == nil {
		return s
	}
	keys, ok := v.(map[string]any)
	if !ok {
		c.fault(path, "found %v, expected a mapping", v)
	}
	s.keys = keys
	return s
}

func (s *configSection) at(key string) string {
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}

func (s *configSection) has(key string) bool { return s.keys[key] != nil }

func (s *configSection) get(key string) any {
	s.taken[key] = true
	return s.keys[key]
}

func (s *configSection) section(key string) *configSection {
	return s.c.section(s.at(key), s.get(key))
}

// ignore takes keys that say nothing of the workload.
func (s *configSection) ignore(keys ...string) {
	for _, k := range keys {
		s.taken[k] = true
	}
}

func (s *configSection) list(key string) []any {
	v := s.get(key)
	list, ok := v.([]any)
	if v != nil && !ok {
		s.c.fault(s.at(key), "found %v, expected a list", v)
	}
	return list
}

func (s *configSection) text(key, missing string) string {
	switch v := s.get(key).(type) {
	case nil:
		return missing
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

func (s *configSection) boolean(key string, missing bool) bool {
	v := s.get(key)
	b, ok := v.(bool)
	if v != nil && !ok {
		s.c.fault(s.at(key), "found %v, expected true or false", v)
	}
	if v == nil {
		return missing
	}
	return b
}

func (s *configSection) number(key string, missing float64) float64 {
	v := s.get(key)
	if v == nil {
		return missing
	}
	n, ok := numberOf(v)
	if !ok {
		s.c.fault(s.at(key), "found %v, expected a number", v)
		return missing
	}
	return n
}

// maxCount keeps a number of the file what an int of ours can be.
const maxCount = 1 << 31

func (s *configSection) whole(key string, missing int) int {
	n := s.number(key, float64(missing))
	if n != math.Trunc(n) || math.Abs(n) > maxCount {
		s.c.fault(s.at(key), "found %s, expected a whole number", strconv.FormatFloat(n, 'g', -1, 64))
		return missing
	}
	return int(n)
}

func numberOf(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

// close names the keys that nobody asked for.
func (s *configSection) close() {
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if !s.taken[key] && s.keys[key] != nil {
			s.c.leave(s.at(key), "has no counterpart and is left out")
		}
	}
}
