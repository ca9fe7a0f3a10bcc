package spec

import (
	"strconv"
	"strings"
)

// MaxTrials keeps a slip of the pen from becoming a plan of years.
const MaxTrials = 1000

// Validate says what is wrong with e, its profile and its arms included.
func (e Experiment) Validate() error { return e.validate(nil) }

func decodeExperiment(t *tree, complete bool) (Experiment, error) {
	if profile := t.fields["profile"]; profile != nil && !complete {
		profile.fillProfile()
	}
	var e Experiment
	faults, origins := decodeInto(t, &e, complete)
	if len(faults) > 0 {
		return Experiment{}, faults.err(string(experimentKind), e.Name, origins)
	}
	return e, e.validate(origins)
}

func (e Experiment) validate(origins map[string]origin) error {
	if faults := e.Profile.problems(); len(faults) > 0 {
		return faults.err(string(profileKind), e.Profile.Name, below(origins, "profile"))
	}
	for i, arm := range e.Arms {
		if faults := arm.problems(); len(faults) > 0 {
			return faults.err(string(armKind), arm.Name, below(origins, join("arms", strconv.Itoa(i))))
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
		e.fit(&is, at, arm.Engine)
	}
	if _, ok := e.Arm(e.Baseline); !ok && len(list) > 0 {
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
func (e Experiment) fit(is *problems, arm string, engine Engine) {
	if !engine.EnableChunkedPrefill && engine.MaxNumBatchedTokens < e.Profile.MaxModelLen {
		is.addf(join(arm, "engine.maxNumBatchedTokens"), "%d is below the profile's maxModelLen %d, which enableChunkedPrefill: false forbids",
			engine.MaxNumBatchedTokens, e.Profile.MaxModelLen)
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
