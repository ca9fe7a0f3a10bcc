package analysis

import (
	"fmt"
	"slices"

	"bgbench/pkg/spec"
)

// ChangedSetting is a setting of the experiment that was another when a cell ran. Verdicts
// hold because what they rest on was chosen without knowing the numbers.
type ChangedSetting struct {
	Key string `json:"key"` // trials, baseline, baselines, margin, arms or chains
	Was string `json:"was"` // in JSON, as the cells have it
	Is  string `json:"is"`  // as experiment.yaml has it
	// Cells are those that ran under the other value.
	Cells int `json:"cells"`
}

func (s ChangedSetting) String() string {
	return fmt.Sprintf("%s changed after the first cell ran: %s ran with %s, experiment.yaml has %s", s.Key, Plural(s.Cells, "cell"), s.Was, s.Is)
}

// The settings that a declaration has, by what rests on them.
var (
	verdictSettings = []string{"trials", "baseline", "baselines", "margin", "arms"}
	stepSettings    = []string{"trials", "chains"}
)

// holdToDeclared finds what was declared otherwise when the cells ran. A cell that carries no
// declaration, as of a lone arm, has nothing to hold against.
func (r *Results) holdToDeclared(slots []*slot) error {
	is, err := settingsOf(r.Experiment.Declaration())
	if err != nil {
		return err
	}
	r.Changed = []ChangedSetting{}
	for _, s := range slots {
		if s.declared == nil {
			continue
		}
		was, err := settingsOf(*s.declared)
		if err != nil {
			return err
		}
		for _, key := range []string{"trials", "baseline", "baselines", "margin", "arms", "chains"} {
			if at, _, _ := differing(key, was[key], is[key]); at == "" {
				continue
			}
			change := ChangedSetting{Key: key, Was: inJSON(was[key]), Is: inJSON(is[key])}
			same := func(c ChangedSetting) bool { return c.Key == change.Key && c.Was == change.Was }
			i := slices.IndexFunc(r.Changed, same)
			if i < 0 {
				i = len(r.Changed)
				r.Changed = append(r.Changed, change)
			}
			r.Changed[i].Cells++
		}
	}
	for _, c := range r.Changed {
		r.Warnings = append(r.Warnings, Warning{Message: c.String()})
	}
	return nil
}

func settingsOf(d spec.Declaration) (map[string]any, error) {
	t, err := tree(d)
	if err != nil {
		return nil, fmt.Errorf("declaration: %w", err)
	}
	return t.(map[string]any), nil
}

// changed says which of the settings was declared otherwise, empty where none was.
func (r *Results) changed(settings []string) string {
	for _, c := range r.Changed {
		if slices.Contains(settings, c.Key) {
			return c.String()
		}
	}
	return ""
}

// undeclared takes a verdict back that rests on a setting that was changed.
func (c *Comparison) undeclared(why string) {
	if why != "" && c.Verdict != VerdictNoConclusion {
		c.Verdict, c.Reason = VerdictNoConclusion, "no verdict: "+why
	}
}

// undeclared takes the words of a step back.
func (s Step) undeclared(why string) {
	for i := range s.Change {
		if why != "" {
			s.Change[i].Word, s.Change[i].Comparison.Reason = WordNotTested, why
		}
	}
}
