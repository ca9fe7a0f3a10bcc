package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// LoadProfile resolves a profile of the catalogue or of a file (a name with a / or
// ending in .yaml or .yml) and applies the assignments key=value.
func LoadProfile(nameOrFile string, sets []string) (Profile, error) {
	t, err := loadWith(profileKind, nameOrFile, sets)
	if err != nil {
		return Profile{}, err
	}
	return decodeProfile(t, false)
}

// LoadArm resolves an arm as LoadProfile does a profile.
func LoadArm(nameOrFile string, sets []string) (Arm, error) {
	t, err := loadWith(armKind, nameOrFile, sets)
	if err != nil {
		return Arm{}, err
	}
	return decodeArm(t, false)
}

func loadWith(k kind, nameOrFile string, sets []string) (*tree, error) {
	assignments, err := parseSets(sets)
	if err != nil {
		return nil, err
	}
	t, err := k.load(nameOrFile, "", nil)
	if err != nil {
		return nil, err
	}
	return apply(t, assignments)
}

// Marshal writes a profile, an arm, an experiment or a list of them as YAML.
func Marshal(v any) ([]byte, error) {
	return yaml.MarshalWithOptions(v, yaml.Indent(2), yaml.IndentSequence(true))
}

func decodeProfile(t *tree, complete bool) (Profile, error) {
	if !complete {
		t.fillProfile()
	}
	var p Profile
	faults, origins := decodeInto(t, &p, complete)
	if len(faults) == 0 {
		p.splitJobs()
		faults = p.problems()
	}
	return p, faults.err(string(profileKind), p.Name, origins)
}

func decodeArm(t *tree, complete bool) (Arm, error) {
	var a Arm
	faults, origins := decodeInto(t, &a, complete)
	if len(faults) == 0 {
		faults = a.problems()
	}
	return a, faults.err(string(armKind), a.Name, origins)
}

// load reads a spec and lays it over what it extends. A file is looked up from
// dir; seen are the specs that led here.
func (k kind) load(nameOrFile, dir string, seen []string) (*tree, error) {
	id := nameOrFile
	if isFile(nameOrFile) {
		id = resolvePath(nameOrFile, dir)
	}
	if slices.Contains(seen, id) {
		return nil, fmt.Errorf("%s extends itself: %s", id, strings.Join(append(seen, id), " -> "))
	}
	t, err := k.read(id)
	if err != nil {
		return nil, fmt.Errorf("%s %w", k, err)
	}
	if _, ok := t.fields["name"]; !ok && isFile(id) {
		name := strings.TrimSuffix(filepath.Base(id), filepath.Ext(id))
		t.put("name", &tree{at: t.at, scalar: name, text: name})
	}
	if id == base {
		return t, nil
	}
	return k.extend(t, append(seen, id))
}

// extend lays the mapping t over the spec that its key extends names, or over the defaults of
// its kind.
func (k kind) extend(t *tree, seen []string) (*tree, error) {
	parent, at := base, t.at
	if extends := t.take("extends"); extends != nil {
		if extends.form != scalarForm || extends.text == "" {
			return nil, fmt.Errorf("%s %s: extends: found %s, expected the name of a spec or a file", k, extends.at, extends.describe())
		}
		parent, at = extends.text, extends.at
	}
	under, err := k.load(parent, filepath.Dir(at.file), seen)
	if err != nil {
		return nil, fmt.Errorf("%s %s: extends: %w", k, at, err)
	}
	// What a spec is called and says of itself is not inherited.
	under.take("name")
	under.take("description")
	whole := under.overlay(t)
	whole.at = t.at // what the spec itself lacks, such as a name, is to be written there
	return whole, nil
}

func isFile(nameOrFile string) bool {
	return strings.ContainsRune(nameOrFile, '/') ||
		strings.HasSuffix(nameOrFile, ".yaml") || strings.HasSuffix(nameOrFile, ".yml")
}

func resolvePath(file, dir string) string {
	if dir == "" || filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(dir, file)
}

// maxFileBytes is far above any spec; it keeps a wrong file name from filling memory.
const maxFileBytes = 1 << 20

// read parses one file, or one entry of the catalogue.
func (k kind) read(id string) (*tree, error) {
	if isFile(id) {
		data, err := readFile(id)
		if err != nil {
			return nil, err
		}
		return parseMapping(data, id)
	}
	data, err := catalog.ReadFile(path.Join(k.folder(), id+".yaml"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, k.unknown(id)
	}
	if err != nil {
		return nil, err
	}
	return parseMapping(data, string(k)+"s/"+id+".yaml")
}

func parseMapping(data []byte, file string) (*tree, error) {
	t, err := parseTree(data, origin{file: file})
	if err == nil && t.form != mappingForm {
		return nil, fmt.Errorf("%s: found %s, expected a mapping", t.at, t.describe())
	}
	return t, err
}

func (k kind) unknown(name string) error {
	err := fmt.Errorf("%s is not in the catalogue, expected one of %s, or a file", strconv.Quote(name), strings.Join(k.names(), ", "))
	if near := nearest(name, k.names()); near != "" {
		return HintedError{err, fmt.Sprintf("did you mean %s?", near)}
	}
	return err
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, onFile(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, onFile(name, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s: found more than %d bytes, expected a spec", name, maxFileBytes)
	}
	return data, nil
}

// onFile puts the name before what happened: "x.yaml: no such file or directory".
func onFile(name string, err error) error {
	var onPath *fs.PathError
	if errors.As(err, &onPath) {
		err = onPath.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
