package report

import (
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/spec"
)

// reproduce is how to run the experiment again.
type reproduce struct {
	Lead     string
	Commands string
}

// reproduce names the commands that make the page from experiment.yaml, which stands
// beside results.json and holds every setting.
func (s study) reproduce() reproduce {
	if s.ofEndpoints() {
		return s.endpointReproduce()
	}
	r := reproduce{Lead: "experiment.yaml beside results.json holds every setting with its default written out. The seed of trial k is that of the profile plus k − 1, so that the same file gives the same schedule, prompts and jobs. The commands run in the folder of bgbench, with the paths of the two files."}
	commands := []string{
		"make build",
		"make -f pipelines/experiment.mk EXPERIMENT=experiment.yaml OUT=results/again",
		"bin/bg-analyze check --baseline results.json results/again/results.json",
	}
	if s.Experiment.Target == spec.TargetModel {
		r.Lead += " On target model the same rows come out, to the bit."
	}
	var revisions []string
	for _, c := range s.Results.Cells {
		versions, _ := c.Versions["versions"].(map[string]any)
		if v, ok := versions["bg-load"].(string); ok && !slices.Contains(revisions, v) {
			revisions = append(revisions, v)
		}
	}
	if len(revisions) > 0 {
		commands = append([]string{fmt.Sprintf("# bg-load was %s", label(strings.Join(revisions, ", ")))}, commands...)
	}
	r.Commands = strings.Join(commands, "\n")
	return r
}
