package draw

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"bgbench/pkg/inputs"
	"bgbench/pkg/spec"
)

// SourceError says that a file that inputs are drawn from cannot be read.
type SourceError struct {
	File string
	Err  error
}

func (e SourceError) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }
func (e SourceError) Unwrap() error { return e.Err }

// numberFiles are the files that a profile takes lengths and instants from, each once.
func numberFiles(p spec.Profile) []string {
	interactive, batch := p.InteractivePrompt(), p.BatchPrompt()
	files := []string{interactive.ISL.File, interactive.OSL.File, batch.ISL.File, batch.OSL.File}
	for _, phase := range p.Interactive.Phases {
		if phase.Trace != nil {
			files = append(files, phase.Trace.File)
		}
	}
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), func(name string) bool { return name == "" })
}

// sealNumbers are the files of lengths and instants with their sums.
func (t Trial) sealNumbers() ([]inputs.SourceFile, error) {
	var all []inputs.SourceFile
	for _, name := range numberFiles(t.Profile) {
		sum, err := sumOf(name)
		if err != nil {
			return nil, err
		}
		all = append(all, inputs.SourceFile{File: name, SHA256: sum})
	}
	return all, nil
}

// changedSource names the first file that m was drawn from and that is another by now:
// found says what m was drawn from, expected what the file has.
func changedSource(m inputs.Manifest) (found, expected string, err error) {
	files := slices.Clone(m.Numbers)
	for _, s := range m.Sources {
		files = append(files, inputs.SourceFile{File: s.File, SHA256: s.SHA256})
	}
	if m.Tokenizer != nil {
		files = append(files, inputs.SourceFile{File: m.Tokenizer.File, SHA256: m.Tokenizer.SHA256})
	}
	for _, f := range files {
		sum, err := sumOf(f.File)
		if err != nil {
			return "", "", err
		}
		if sum != f.SHA256 {
			return fmt.Sprintf("%s drawn from %s with SHA-256 %.12s…", describe(m), f.File, f.SHA256), fmt.Sprintf("%.12s…, which the file has now", sum), nil
		}
	}
	return "", "", nil
}

func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", SourceError{name, errors.Unwrap(err)} // without the name, which it has
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", SourceError{name, err}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
