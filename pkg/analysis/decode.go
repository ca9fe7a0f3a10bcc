package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bgbench/pkg/jsontext"
)

// ReadResults decodes the results.json called name and checks that it hangs together.
// Its errors name the line or the field, what was found and what was expected.
func ReadResults(r io.Reader, name string) (Results, error) {
	var results Results
	data, err := io.ReadAll(r)
	if err != nil {
		return results, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return results, fmt.Errorf("%s: empty, expected the JSON of %s", name, SchemaVersion)
	}
	// The version goes first: the fields of another schema would be misjudged.
	var version struct {
		SchemaVersion *string `json:"schema_version"`
	}
	if err := decode(data, name, &version); err != nil {
		return results, err
	}
	switch {
	case version.SchemaVersion == nil:
		return results, fmt.Errorf("%s: schema_version: missing, expected %q", name, SchemaVersion)
	case *version.SchemaVersion != SchemaVersion:
		return results, fmt.Errorf("%s: schema_version: found %q, expected %q",
			name, *version.SchemaVersion, SchemaVersion)
	}
	if err := decode(data, name, &results); err != nil {
		return results, err
	}
	if err := coherent(results); err != nil {
		return results, fmt.Errorf("%s: %w", name, err)
	}
	return results, nil
}

func decode(data []byte, name string, to any) error {
	return jsontext.Fault(name, data, 0, json.Unmarshal(data, to))
}

// coherent holds what readers rely on: arms have unique names, cells belong to
// one of them, and no cell is there twice.
func coherent(results Results) error {
	if len(results.Arms) == 0 {
		return errors.New("arms: missing or empty, expected at least one arm")
	}
	arms := map[string]int{}
	baselines := map[string]int{} // by point
	for i, arm := range results.Arms {
		if arm.Name == "" {
			return fmt.Errorf("arms[%d].name: missing, expected the name of an arm", i)
		}
		if first, ok := arms[arm.Name]; ok {
			return fmt.Errorf("arms[%d].name: found %q, which arms[%d] has already", i, arm.Name, first)
		}
		arms[arm.Name] = i
		if first, ok := baselines[arm.Point]; ok && arm.Baseline {
			return fmt.Errorf("arms[%d].baseline: found true, expected one baseline and arms[%d] is it", i, first)
		}
		if arm.Baseline {
			baselines[arm.Point] = i
		}
	}
	type place struct {
		arm   string
		trial int
	}
	cells := map[place]int{}
	for i, cell := range results.Cells {
		if _, ok := arms[cell.Arm]; !ok {
			return fmt.Errorf("cells[%d].arm: found %q, expected the name of one of the %d arms", i, cell.Arm, len(arms))
		}
		if cell.Trial < 1 {
			return fmt.Errorf("cells[%d].trial: found %d, expected 1 or more", i, cell.Trial)
		}
		at := place{cell.Arm, cell.Trial}
		if first, ok := cells[at]; ok {
			return fmt.Errorf("cells[%d]: found trial %d of arm %q, which cells[%d] has already",
				i, cell.Trial, cell.Arm, first)
		}
		cells[at] = i
	}
	return nil
}
