package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// gridPoint is an arm or a profile with some of the axes fixed.
type gridPoint struct {
	of    *tree
	fixed []fixed
}

// fixed is an axis and the value that it has.
type fixed struct {
	axis
	value *tree
}

// grid returns the points of an arm or a profile on all combinations of the axes'
// values, the last axis changing fastest: itself where there is no axis.
func grid(of *tree, axes []axis) ([]gridPoint, error) {
	points := []gridPoint{{of: of}}
	for _, x := range axes {
		var next []gridPoint
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
	return points, nil
}

func (p gridPoint) with(x axis, v *tree) (gridPoint, error) {
	value := v.clone()
	value.sweptBy(x.key())
	of, err := p.of.clone().set(x.path, value)
	if err != nil {
		return gridPoint{}, fmt.Errorf("experiment %s: sweep.%s: %w", v.at, x.key(), err)
	}
	return gridPoint{of, append(p.fixed[:len(p.fixed):len(p.fixed)], fixed{x, v})}, nil
}

// sweptBy says that all of t is the value of a key of the sweep.
func (t *tree) sweptBy(key string) {
	t.at.sweep = key
	for name, f := range t.fields {
		f.sweptBy(join(key, name))
	}
	for i, item := range t.items {
		item.sweptBy(join(key, fmt.Sprint(i)))
	}
}

// name calls the point by its values, after the name of what it is a point of. Where
// that would be too long for a file, it leaves their keys out.
func (p gridPoint) name(of string) string {
	full, short := []string{of}, []string{of}
	if of == "" {
		full, short = nil, nil
	}
	for _, f := range p.fixed {
		full = append(full, f.label, f.value.slug())
		short = append(short, f.value.slug())
	}
	if name := strings.Join(full, "-"); safeName.MatchString(name) {
		return name
	}
	return strings.Join(short, "-")
}

// armName is the name of the point of an arm.
func (p gridPoint) armName() string { return p.name(p.of.field("name").scalarText()) }

// description adds the values to what is said of the arm.
func (p gridPoint) description() string {
	var said []string
	for _, f := range p.fixed {
		said = append(said, f.key()+" "+f.value.slug())
	}
	text := strings.Join(said, ", ")
	if of := p.of.field("description").scalarText(); of != "" && text != "" {
		return of + "; " + text
	} else if of != "" {
		return of
	}
	return text
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
			differs, err := actsDifferently(point.of, x)
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
	for i, point := range append([]gridPoint{{of: arm}}, points...) {
		var a Arm
		if faults, _ := decodeInto(point.of, &a, false); len(faults) > 0 {
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
