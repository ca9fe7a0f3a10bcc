package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxTrials keeps a slip of the pen from becoming a plan of years.
const MaxTrials = 1000

// Validate says what is wrong with e, its profile and its arms included.
func (e Experiment) Validate() error { return e.validate(nil) }

func decodeExperiment(t *tree, complete bool) (Experiment, error) {
	if !complete {
		if profile := t.fields["profile"]; profile != nil {
			profile.fillProfile()
		}
		for _, point := range t.field("points").list() {
			if profile := point.field("profile"); profile != nil {
				profile.fillProfile()
			}
		}
	}
	var e Experiment
	faults, origins := decodeInto(t, &e, complete)
	if len(faults) > 0 {
		return Experiment{}, faults.err(string(experimentKind), e.Name, origins)
	}
	e.Profile.splitJobs()
	for i := range e.Points {
		e.Points[i].Profile.splitJobs()
	}
	return e, e.validate(origins)
}

func (e Experiment) validate(origins map[string]origin) error {
	if faults := e.Profile.problems(); len(faults) > 0 {
		return faults.err(string(profileKind), e.Profile.Name, below(origins, "profile"))
	}
	for i, point := range e.Points {
		if faults := point.Profile.problems(); len(faults) > 0 {
			return faults.err(string(profileKind), point.Profile.Name, below(origins, join("points", strconv.Itoa(i))+".profile"))
		}
	}
	for i, arm := range e.Arms {
		if faults := arm.problems(); len(faults) > 0 {
			at := below(origins, join("arms", strconv.Itoa(i)))
			return faults.where(e.SweptOf(arm.Name).said(), at).err(string(armKind), arm.Name, at)
		}
	}
	return e.problems().err(string(experimentKind), e.Name, origins)
}

// below returns the origins of one part under the names that the part gives them.
func below(origins map[string]origin, path string) map[string]origin {
	part := map[string]origin{}
	for key, at := range origins {
		if key == path {
			part[""] = at
		} else if rest, ok := strings.CutPrefix(key, path+"."); ok {
			part[rest] = at
		}
	}
	return part
}

// problems are those of the experiment itself; its parts have their own.
func (e Experiment) problems() problems {
	var is problems
	is.name("name", e.Name)
	is.oneOf("target", e.Target, TargetModel, TargetLocal, TargetKube)
	is.check(e.Trials >= 1 && e.Trials <= MaxTrials, "trials", "found %d, expected 1 to %d", e.Trials, MaxTrials)
	is.check(e.Margin > 0, "margin", "found %s, expected a share above 0 such as 0.1", decimal(e.Margin))
	is.check(len(e.Arms) > 0, "arms", "found none, expected one or more")
	var names names
	var list []string
	for i, arm := range e.Arms {
		at := join("arms", strconv.Itoa(i))
		names.add(&is, join(at, "name"), arm.Name)
		list = append(list, arm.Name)
		e.fit(&is, at, arm)
	}
	e.pointProblems(&is)
	if _, ok := e.Arm(e.Baseline); !ok && len(list) > 0 && len(e.Points) == 0 {
		is.addf("baseline", "found %q, expected one of the arms %s", e.Baseline, strings.Join(list, ", "))
		if near := nearest(e.Baseline, list); near != "" {
			is.hintLast("did you mean %s?", near)
		}
	}
	e.chainProblems(&is)
	return is
}

// fit checks what engine and profile ask of each other: without chunked prefill
// vLLM refuses a token budget below the context length.
func (e Experiment) fit(is *problems, at string, arm Arm) {
	engine, most := arm.Engine, e.ProfileOf(arm.Name).MaxModelLen
	if !engine.EnableChunkedPrefill && engine.MaxNumBatchedTokens < most {
		is.addf(join(at, "engine.maxNumBatchedTokens"), "%d is below the profile's maxModelLen %d, which enableChunkedPrefill: false forbids",
			engine.MaxNumBatchedTokens, most)
	}
}

// Arm returns the arm called name.
func (e Experiment) Arm(name string) (Arm, bool) {
	for _, a := range e.Arms {
		if a.Name == name {
			return a, true
		}
	}
	return Arm{}, false
}

// NoArm says that the experiment has no arm of that name, and which it has.
func (e Experiment) NoArm(name string) error {
	names := make([]string, len(e.Arms))
	for i, a := range e.Arms {
		names[i] = a.Name
	}
	err := fmt.Errorf("experiment %s has no arm %q, expected one of %s", e.Name, name, strings.Join(names, ", "))
	if near := nearest(name, names); near != "" {
		return HintedError{err, fmt.Sprintf("did you mean %s?", near)}
	}
	return err
}
