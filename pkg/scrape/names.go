package scrape

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed names.tsv
var namesTSV string

// renamed is the content of names.tsv.
var renamed = mustParseNames(namesTSV)

type names struct {
	exact    map[string]string
	prefixes [][2]string
}

func mustParseNames(tsv string) names {
	n := names{exact: make(map[string]string)}
	for i, line := range strings.Split(tsv, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		old, canonical, ok := strings.Cut(line, "\t")
		oldPrefix, isPrefix := strings.CutSuffix(old, "*")
		newPrefix, ok2 := strings.CutSuffix(canonical, "*")
		if !ok || isPrefix != ok2 {
			panic(fmt.Sprintf("scrape: names.tsv:%d: found %q, expected two names with a tab between them", i+1, line))
		}
		if isPrefix {
			n.prefixes = append(n.prefixes, [2]string{oldPrefix, newPrefix})
		} else {
			n.exact[old] = canonical
		}
	}
	return n
}

// canonical follows the renames of a family's name to the end.
func (n names) canonical(name string, counter bool) string {
	if counter && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	for {
		next, ok := n.next(name)
		if !ok {
			return name
		}
		name = next
	}
}

func (n names) next(name string) (string, bool) {
	if to, ok := n.exact[name]; ok {
		return to, true
	}
	for _, p := range n.prefixes {
		if rest, ok := strings.CutPrefix(name, p[0]); ok {
			return p[1] + rest, true
		}
	}
	return "", false
}

// splitUntyped takes the ending of a histogram or summary off the name of a series of
// which the type is unknown, if the rest is a name that was renamed.
func splitUntyped(name string) (family, suffix string) {
	if _, ok := renamed.next(name); ok {
		return name, ""
	}
	if family, suffix := splitEnding(name); suffix != "" {
		if _, ok := renamed.next(family); ok {
			return family, suffix
		}
	}
	return name, ""
}

// exposedAs returns the names under which a quantity may be exposed: the canonical one
// first, then older ones.
func (n names) exposedAs(canonical string) []string {
	out := []string{canonical}
	family, suffix := splitEnding(canonical)
	add := func(old string) {
		if n.canonical(old, false) == family && !slices.Contains(out, old+suffix) {
			out = append(out, old+suffix)
		}
	}
	for _, old := range slices.Sorted(maps.Keys(n.exact)) {
		add(old)
	}
	for _, p := range n.prefixes {
		if rest, ok := strings.CutPrefix(family, p[1]); ok {
			add(p[0] + rest)
		}
	}
	if bare, ok := strings.CutSuffix(canonical, "_total"); ok {
		out = append(out, bare)
	}
	return out
}

// splitEnding takes the ending of a histogram or summary off a name.
func splitEnding(name string) (family, suffix string) {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if family, ok := strings.CutSuffix(name, suffix); ok {
			return family, suffix
		}
	}
	return name, ""
}
