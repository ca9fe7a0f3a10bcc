package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
		return results, otherVersion(name, *version.SchemaVersion)
	}
	if err := decode(data, name, &results); err != nil {
		return results, err
	}
	if err := coherent(results); err != nil {
		return results, fmt.Errorf("%s: %w", name, err)
	}
	if results.keys, err = keysOf(data, results); err != nil {
		return results, fmt.Errorf("%s: %w", name, err)
	}
	return results, nil
}

// otherVersion says whose version is the newer one.
func otherVersion(name, found string) error {
	err := fmt.Errorf("%s: schema_version: found %q, expected %q", name, found, SchemaVersion)
	stem, ours, _ := strings.Cut(SchemaVersion, "/")
	number, ok := strings.CutPrefix(found, stem+"/")
	theirs, notNumber := strconv.Atoi(number)
	own, _ := strconv.Atoi(ours)
	switch {
	case !ok || notNumber != nil:
		return fmt.Errorf("%w: it is no results.json of ours", err)
	case theirs > own:
		return fmt.Errorf("%w: a newer version wrote it, use that one to read it", err)
	}
	return fmt.Errorf("%w: an older version wrote it, make it anew from its cells with bg-analyze compare", err)
}

// ReadEarlier reads the results in a folder, DIR/*.json and DIR/*/results.json, in the order
// of their names.
func ReadEarlier(dir string) ([]Results, error) {
	var paths []string
	for _, pattern := range []string{"*.json", "*/results.json"} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: found no results, expected *.json or */results.json", dir)
	}
	slices.Sort(paths)
	var out []Results
	for _, path := range paths {
		path = filepath.Join(dir, path)
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		results, err := ReadResults(f, path)
		f.Close()
		if err != nil {
			return nil, err
		}
		if len(out) > 0 && results.Experiment.Name != out[0].Experiment.Name {
			return nil, fmt.Errorf("%s: it is of experiment %q, expected %q as in %s", path, results.Experiment.Name, out[0].Experiment.Name, paths[0])
		}
		out = append(out, results)
	}
	return out, nil
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
