package spec

import (
	"fmt"
	"slices"
	"strings"
)

// problem is one thing that is wrong with a spec.
type problem struct {
	path string // as --set writes it
	text string // what was found and what was expected
	hint string // a next step, if one is known
}

// problems collects what is wrong with one spec.
type problems []problem

func (p *problems) addf(path, format string, args ...any) {
	*p = append(*p, problem{path: path, text: fmt.Sprintf(format, args...)})
}

// check adds a problem unless ok.
func (p *problems) check(ok bool, path, format string, args ...any) {
	if !ok {
		p.addf(path, format, args...)
	}
}

// hintLast attaches a next step to the problem that was added last.
func (p problems) hintLast(format string, args ...any) {
	p[len(p)-1].hint = fmt.Sprintf(format, args...)
}

// err turns the problems of the spec that is called what (profile ci, say) into
// one error, nil if there are none. origins say where a path was written; a path
// without one is looked up by its parents.
func (p problems) err(what, name string, origins map[string]origin) error {
	if len(p) == 0 {
		return nil
	}
	e := &Error{}
	hint := ""
	for _, one := range p {
		e.lines = append(e.lines, line(what, name, one, origins))
		if hint == "" {
			hint = one.hint
		}
	}
	if hint == "" {
		return e
	}
	return HintedError{e, hint}
}

func line(what, name string, p problem, origins map[string]origin) string {
	subject, path := what, p.path
	at, ok := lookup(origins, p.path)
	switch {
	case !ok:
		subject += " " + name
	case at.sweep != "":
		subject, path = string(experimentKind)+" "+at.String(), "sweep."+at.sweep
	case at.assignment != "":
		// The assignment names the path already, unless the fault lies deeper.
		subject += " " + name + ": " + at.String()
		if key, _, _ := strings.Cut(at.assignment, "="); strings.HasSuffix(key, path) {
			path = ""
		}
	default:
		subject += " " + at.String()
	}
	text := p.text
	if at.assignment == "" {
		text += because(origins, p.path)
	}
	if path == "" {
		return subject + ": " + text
	}
	return subject + ": " + path + ": " + text
}

// because names the assignments to parts of what is written at path: what is wrong with the
// whole may be theirs.
func because(origins map[string]origin, path string) string {
	var sets []string
	for part, at := range origins {
		if at.assignment != "" && strings.HasPrefix(part, path+".") && !slices.Contains(sets, at.String()) {
			sets = append(sets, at.String())
		}
	}
	if len(sets) == 0 {
		return ""
	}
	slices.Sort(sets)
	return " (with " + strings.Join(sets, ", ") + ")"
}

// where adds to each problem what a sweep set elsewhere; one that lies in the value of a
// sweep names its key already.
func (p problems) where(set string, origins map[string]origin) problems {
	var all problems
	for _, one := range p {
		if at, _ := lookup(origins, one.path); set != "" && at.sweep == "" {
			one.text += " (with " + set + ")"
		}
		all = append(all, one)
	}
	return all
}

func lookup(origins map[string]origin, path string) (origin, bool) {
	for {
		if at, ok := origins[path]; ok {
			return at, true
		}
		cut := strings.LastIndexByte(path, '.')
		if cut < 0 {
			at, ok := origins[""]
			return at, ok
		}
		path = path[:cut]
	}
}

// Error says what is wrong with a profile, an arm or an experiment, a line each.
type Error struct{ lines []string }

func (e *Error) Error() string { return strings.Join(e.lines, "\n") }

// HintedError is an error that knows a next step.
type HintedError struct {
	Err  error
	hint string
}

func (e HintedError) Error() string { return e.Err.Error() }
func (e HintedError) Unwrap() error { return e.Err }

// Hint is the next step.
func (e HintedError) Hint() string { return e.hint }
