package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bgbench/pkg/spec"
)

// configuration is what ran: the profile and the arms as a user would write them,
// and the versions that the cells recorded.
type configuration struct {
	Profiles []document // one, or that of each point of a sweep over the profile
	Arms     []document
	Versions []version
}

// document is one YAML file.
type document struct {
	Arm  *tag
	Name string
	YAML string
}

// version is one component and every version of it that a cell recorded.
type version struct {
	Component string
	Versions  string
}

func (s study) configuration() (configuration, error) {
	var c configuration
	for i, profile := range s.Experiment.Profiles() {
		text, err := spec.Marshal(profile)
		if err != nil {
			return c, fmt.Errorf("writing the profile as YAML: %w", err)
		}
		name := profile.Name
		if len(s.Experiment.Points) > 0 {
			name += " at " + s.Experiment.Points[i].Name
		}
		c.Profiles = append(c.Profiles, document{Name: label(name), YAML: string(text)})
	}
	for _, a := range s.Experiment.Arms {
		text, err := spec.Marshal(a)
		if s.ofEndpoints() {
			text, err = endpointYAML(a)
		}
		if err != nil {
			return c, fmt.Errorf("writing arm %q as YAML: %w", a.Name, err)
		}
		d := document{Name: label(a.Name), YAML: string(text)}
		for _, known := range s.Arms {
			if known.Name == a.Name {
				d.Arm = &known.Tag
			}
		}
		c.Arms = append(c.Arms, d)
	}
	c.Versions = append(s.versions(), s.recorded(deployed)...)
	return c, nil
}

// versions are those of the tools.
func (s study) versions() []version {
	return s.recorded(func(metadata map[string]any) map[string]string { return texts(metadata["versions"]) })
}

// recorded collects versions of the run-metadata.json of all cells; more than one of a
// component means that the cells are not alike.
func (s study) recorded(of func(metadata map[string]any) map[string]string) []version {
	found := map[string][]string{}
	for _, a := range s.Arms {
		for _, cell := range a.Cells {
			for component, text := range of(cell.Versions) {
				if !slices.Contains(found[component], text) {
					found[component] = append(found[component], text)
				}
			}
		}
	}
	var list []version
	for _, component := range slices.Sorted(maps.Keys(found)) {
		slices.Sort(found[component])
		list = append(list, version{label(component), prose(strings.Join(found[component], ", "))})
	}
	return list
}
