package spec

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// The catalogue: profiles, arms and experiments that come with bgbench. In each
// folder base.yaml holds the defaults that everything else is laid over.
//
//go:embed catalog/profiles/*.yaml catalog/arms/*.yaml catalog/experiments/*.yaml
var catalog embed.FS

// kind is what a spec declares.
type kind string

const (
	profileKind    kind = "profile"
	armKind        kind = "arm"
	experimentKind kind = "experiment"
)

// base is the name of the defaults in each folder of the catalogue.
const base = "base"

func (k kind) folder() string { return path.Join("catalog", string(k)+"s") }

// names returns what the catalogue holds of kind k, in order, without the defaults.
func (k kind) names() []string {
	entries, err := catalog.ReadDir(k.folder())
	if err != nil {
		panic(err) // the folders are embedded
	}
	var names []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".yaml"); name != base {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Entry is a line of the catalogue.
type Entry struct{ Name, Description string }

// Profiles lists the profiles of the catalogue.
func Profiles() ([]Entry, error) { return profileKind.entries() }

// Arms lists the arms of the catalogue.
func Arms() ([]Entry, error) { return armKind.entries() }

// Experiments lists the experiments of the catalogue.
func Experiments() ([]Entry, error) { return experimentKind.entries() }

func (k kind) entries() ([]Entry, error) {
	var all []Entry
	for _, name := range k.names() {
		t, err := k.load(name, "", nil)
		if err != nil {
			return nil, err
		}
		e := Entry{Name: name}
		if d := t.fields["description"]; d != nil {
			e.Description = d.text
		}
		all = append(all, e)
	}
	return all, nil
}
