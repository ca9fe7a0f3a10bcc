package draw

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"bgbench/pkg/inputs"
)

// Conflict says that the folder to be written already holds something else.
type Conflict struct {
	Dir             string
	Found, Expected string
}

func (e Conflict) Error() string {
	return fmt.Sprintf("%s: found %s, expected %s", e.Dir, e.Found, e.Expected)
}

// Hint says what to do about it.
func (e Conflict) Hint() string { return "give another folder, or remove this one" }

// Write draws the trial into the folder dir. A folder that holds the very same
// trial, whole, is left alone and drawn is false; any other is a Conflict.
func (t Trial) Write(dir string) (m inputs.Manifest, drawn bool, err error) {
	m, found, err := t.existing(dir)
	if found || err != nil {
		return m, false, err
	}
	drawing, err := t.start()
	if err != nil {
		return inputs.Manifest{}, false, err
	}
	folder, err := inputs.Create(dir)
	if err != nil {
		return inputs.Manifest{}, false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, folder.Abandon())
		}
	}()
	m = t.manifest()
	if m.Numbers, err = t.sealNumbers(); err != nil {
		return inputs.Manifest{}, false, err
	}
	if m.Lengths, err = drawing.files(folder); err != nil {
		return inputs.Manifest{}, false, err
	}
	m.Sources, m.Tokenizer = drawing.texts.sources(), drawing.tokenizer
	m, err = folder.Commit(m)
	return m, err == nil, err
}

// existing looks for the trial in dir; found is false where dir is free.
func (t Trial) existing(dir string) (m inputs.Manifest, found bool, err error) {
	m, err = inputs.ReadManifest(dir)
	if errors.Is(err, os.ErrNotExist) {
		return inputs.Manifest{}, false, t.free(dir)
	}
	var access *fs.PathError
	if errors.As(err, &access) {
		return inputs.Manifest{}, false, err
	}
	if err != nil {
		return inputs.Manifest{}, false, Conflict{dir, "a damaged folder: " + err.Error(), t.describe()}
	}
	if found, expected := describe(m), t.describe(); found != expected {
		return inputs.Manifest{}, false, Conflict{dir, found, expected}
	}
	same, err := sameProfile(m, t.manifest())
	if err != nil {
		return inputs.Manifest{}, false, err
	}
	if !same {
		return inputs.Manifest{}, false, Conflict{dir, t.describe() + " drawn from other settings of its profile", "the settings asked for"}
	}
	if found, expected, err := changedSource(m); err != nil {
		return inputs.Manifest{}, false, err
	} else if found != "" {
		return inputs.Manifest{}, false, Conflict{dir, found, expected}
	}
	if _, err := inputs.Open(dir); err != nil {
		return inputs.Manifest{}, false, Conflict{dir, "a damaged folder: " + err.Error(), t.describe()}
	}
	return m, true, nil
}

// free checks that dir does not exist or is empty.
func (t Trial) free(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing inputs: %w", err)
	}
	if len(entries) > 0 {
		return Conflict{dir, entries[0].Name() + " and no " + inputs.ManifestName, "a new or empty folder"}
	}
	return nil
}

func (t Trial) describe() string { return describe(t.manifest()) }

func describe(m inputs.Manifest) string {
	profile := m.Profile.Name
	if m.Point != "" {
		profile += " at " + m.Point
	}
	return fmt.Sprintf("trial %d of experiment %s (profile %s, seed %d)", m.Trial, m.Experiment, profile, m.Seed)
}

// sameProfile compares as the file has it: what JSON does not tell apart is the same.
func sameProfile(a, b inputs.Manifest) (bool, error) {
	left, err := json.Marshal(a.Profile)
	if err != nil {
		return false, fmt.Errorf("comparing profiles: %w", err)
	}
	right, err := json.Marshal(b.Profile)
	if err != nil {
		return false, fmt.Errorf("comparing profiles: %w", err)
	}
	return string(left) == string(right), nil
}
