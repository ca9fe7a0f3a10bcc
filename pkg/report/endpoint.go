package report

import (
	"fmt"
	"strings"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// ofEndpoints says that what was measured are endpoints of which only the address is known:
// there is no stack to tell of, and nothing that was to be held.
func (s study) ofEndpoints() bool { return s.Experiment.Target == spec.TargetEndpoint }

// endpointFacts say what was measured, in place of the model of a profile: each endpoint has
// its own name for it.
func (s study) endpointFacts() []fact {
	var facts []fact
	for _, a := range s.Arms {
		name := "Measured"
		if len(s.Arms) > 1 {
			name = a.Tag.Label()
		}
		facts = append(facts, fact{name, prose(a.Description)})
	}
	return facts
}

// endpointSentence tells what was measured, and judges nothing.
func (s study) endpointSentence() string {
	var told []string
	for _, a := range s.Arms {
		var figures []string
		for _, of := range []struct{ metric, stat string }{
			{analysis.MetricTTFT, analysis.StatP50}, {analysis.MetricTTFT, analysis.StatP95}, {analysis.MetricITL, analysis.StatP50}, {analysis.MetricITL, analysis.StatP95},
		} {
			key := analysis.MetricKey(s.Burst, record.ClassInteractive, of.metric, of.stat)
			e, ok := a.Metrics[key]
			if !ok || e.Median == nil {
				continue
			}
			text := quantityName(of.metric) + " " + of.stat + " " + quantity(*e.Median, e.Unit)
			if c := a.Against[key]; c.Ratio != nil {
				text += " (" + times(*c.Ratio)
				if c.Low != nil && c.High != nil {
					text += ", 95\u00a0% CI " + s.interval(*c.Low, *c.High)
				}
				text += ")"
			}
			figures = append(figures, text)
		}
		if figures != nil {
			told = append(told, fmt.Sprintf("%s: %s (n\u00a0=\u00a0%d)", a.Tag.Label(), strings.Join(figures, ", "), a.Trials))
		}
	}
	if told == nil {
		return "No figure of interactive requests: no valid trial has enough of them."
	}
	text := "Interactive requests in " + label(s.Burst) + ", medians of the trials. " + strings.Join(told, "; ") + "."
	if s.Baseline != nil {
		text += " Ratios are to " + s.Baseline.Tag.Label() + ", trial by trial; nothing was declared to test them against."
	}
	return text
}

// endpointReproduce names the commands that measure the same again.
func (s study) endpointReproduce() reproduce {
	r := reproduce{Lead: "The cells hold the profile with every default written out. The seed of trial k is that of the profile plus k − 1, so that the same profile gives the same schedule, prompts and jobs; what is behind an endpoint may have changed."}
	var commands []string
	for _, a := range s.Arms {
		commands = append(commands, fmt.Sprintf("# %s: %s\nbg-load run --target URL --arm %s -p %s --trial K -o again/cells/%s/tK", a.Tag.Label(), prose(a.Description), a.Tag.Label(), label(s.Experiment.Profile.Name), a.Tag.Label()))
	}
	r.Commands = strings.Join(append(commands, "bg-analyze compare again -o results.json", "bg-report html results.json -o report.html"), "\n")
	return r
}

// endpointYAML is all that is known of the arm of an endpoint.
func endpointYAML(a spec.Arm) ([]byte, error) {
	return spec.Marshal(struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Dispatch    string `yaml:"dispatch"`
	}{a.Name, a.Description, a.Dispatch})
}
