package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Case is one recorded thing that a gateway did.
type Case struct {
	Name string // KIND/NAME
	File string
	// replay runs the case on the model, ask on a live gateway.
	replay func(*outcome)
	ask    func(context.Context, *Live, *outcome)
}

// Outcome is what came of a case.
type Outcome struct {
	Name        string
	Differences []string
	NotRun      string // why it was not run, empty when it was
}

// String is one line: ok, FAIL with the differences, or skip with the reason.
func (o Outcome) String() string {
	switch {
	case len(o.Differences) > 0:
		return "FAIL " + o.Name + ": " + strings.Join(o.Differences, "; ")
	case o.NotRun != "":
		return "skip " + o.Name + ": " + o.NotRun
	}
	return "ok   " + o.Name
}

// outcome collects what a replay finds.
type outcome struct {
	differences []string
	notRun      string
}

func (o *outcome) differ(format string, args ...any) {
	o.differences = append(o.differences, fmt.Sprintf(format, args...))
}

// want notes a difference between two values.
func (o *outcome) want(what string, got, want any) {
	if got != want {
		o.differ("%s: got %v, want %v", what, got, want)
	}
}

// Replay runs the case on the model.
func (c Case) Replay() Outcome {
	var o outcome
	c.replay(&o)
	return Outcome{Name: c.Name, Differences: o.differences, NotRun: o.notRun}
}

// needsScript is why most cases cannot be run on a live gateway.
const needsScript = "needs a backend that does what its prompts say, and a processor with the settings of the case"

// Ask runs the case on a live gateway, if its API alone can bring about what the case
// needs.
func (c Case) Ask(ctx context.Context, live *Live) Outcome {
	o := outcome{notRun: needsScript}
	if c.ask != nil {
		o.notRun = ""
		c.ask(ctx, live, &o)
	}
	return Outcome{Name: c.Name, Differences: o.differences, NotRun: o.notRun}
}

// Load reads the cases in files and folders, sorted by name. Its errors name file, line
// and field.
func Load(paths []string) ([]Case, error) {
	if len(paths) == 0 {
		return nil, errors.New("found no case, expected files or folders")
	}
	var files []string
	for _, path := range paths {
		found, err := caseFiles(path)
		if err != nil {
			return nil, fmt.Errorf("looking for cases: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: found no *.json, expected cases", path)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	var cases []Case
	folders := map[string]*corpus{}
	for _, file := range slices.Compact(files) {
		found, err := load(file, folders)
		if err != nil {
			return nil, err
		}
		cases = append(cases, found...)
	}
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return cases, nil
}

// caseFiles lists path, or all *.json in and below it when it is a folder.
func caseFiles(path string) (files []string, _ error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(file) == ".json" {
			files = append(files, file)
		}
		return err
	})
	return files, err
}

// maxFile is far above any recording.
const maxFile = 64 << 20

func read(file string) (document, error) {
	info, err := os.Stat(file)
	if err != nil {
		return document{}, fmt.Errorf("reading a case: %w", err)
	}
	if info.Size() > maxFile {
		return document{}, fmt.Errorf("%s: found %d bytes, expected a case", file, info.Size())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return document{}, fmt.Errorf("reading a case: %w", err)
	}
	return document{file, text}, nil
}

// load reads the cases of one file. The keys at its top say what it is.
func load(file string, folders map[string]*corpus) ([]Case, error) {
	d, err := read(file)
	if err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := d.decode(&top); err != nil {
		return nil, err
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, ok := top[key]; return ok })
	}
	switch {
	case has("request", "response"):
		folder := filepath.Dir(file)
		if folders[folder] == nil {
			folders[folder] = readCorpus(folder)
		}
		return exchangeCase(d, folders[folder])
	case has("polls_on_change"):
		return jobCase(d)
	case has("upstream_headers", "retry"):
		return headerCases(d)
	case has(orderSections...):
		return orderCases(d)
	case has("experiments"):
		var e struct{ Experiments []map[string]json.RawMessage }
		if json.Unmarshal(d.text, &e) == nil && len(e.Experiments) > 0 {
			if _, ok := e.Experiments[0]["events"]; ok {
				return restartCases(d)
			}
		}
		return aimdCases(d)
	}
	keys := make([]string, 0, len(top))
	for key := range top {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return nil, fmt.Errorf("%s:1: found the keys [%s], expected those of an exchange (request, response), a job (polls_on_change) or a file of experiments, orders or headers",
		file, strings.Join(keys, " "))
}
