package inputs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/openai"
	"bgbench/pkg/spec"
)

const schemaVersion = 1

// Set is an opened folder.
type Set struct {
	Manifest Manifest
	Systems  []string
	Prompts  []Prompt
	Schedule []Due
	Jobs     []JobFile
}

// JobFile is the file of a batch job.
type JobFile struct {
	Name     string
	Path     string
	Requests int
	Window   time.Duration

	content []byte // as Open found it; nil in a JobFile that is not from Open
}

// Content returns the file's content, which nobody may change.
func (f JobFile) Content() ([]byte, error) {
	if f.content != nil {
		return f.content, nil
	}
	return readContent(f.Path)
}

// Messages returns the chat of a prompt.
func (s *Set) Messages(prompt int) []openai.Message {
	p := s.Prompts[prompt]
	turns := []openai.Message{{Role: "user", Content: p.User}}
	for p.After != nil {
		answer := p.Answer
		p = s.Prompts[*p.After]
		turns = append(turns, openai.Message{Role: "assistant", Content: answer}, openai.Message{Role: "user", Content: p.User})
	}
	if p.SystemPrompt != nil {
		turns = append(turns, openai.Message{Role: "system", Content: s.Systems[*p.SystemPrompt]})
	}
	slices.Reverse(turns)
	return turns
}

// ReadManifest reads only the manifest of the folder dir. The error wraps
// os.ErrNotExist where there is none.
func ReadManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	data, err := os.ReadFile(path)
	if err != nil {
		return Manifest{}, fmt.Errorf("opening inputs: %w", err)
	}
	var m Manifest
	if err := jsontext.Decode(path, data, &m); err != nil {
		return Manifest{}, err
	}
	if m.SchemaVersion != schemaVersion {
		return Manifest{}, fmt.Errorf("%s: schema_version: found %d, expected %d", path, m.SchemaVersion, schemaVersion)
	}
	if err := m.Profile.Validate(); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Open opens the folder dir and checks that its files are those that were written
// and that they belong together.
func Open(dir string) (*Set, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{Manifest: m}
	prompts, err := m.open(dir, PromptsName)
	if err != nil {
		return nil, err
	}
	if err := prompts.check(s.readPrompt); err != nil {
		return nil, err
	}
	schedule, err := m.open(dir, ScheduleName)
	if err != nil {
		return nil, err
	}
	check := newScheduleCheck(m.Profile.Interactive, len(s.Prompts))
	if err := schedule.check(func(line []byte) (field, fault string) {
		return s.readDue(check, line)
	}); err != nil {
		return nil, err
	}
	for _, job := range m.Profile.Batch.Jobs {
		if err := s.openJob(dir, job); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Set) openJob(dir string, job spec.Job) error {
	file, err := s.Manifest.open(dir, JobName(job.Name))
	if err != nil {
		return err
	}
	if file.seal.Lines != job.Requests {
		return fmt.Errorf("%s: %s: found %d lines, expected %d, the requests of job %s",
			filepath.Join(dir, ManifestName), file.seal.Name, file.seal.Lines, job.Requests, job.Name)
	}
	// Nobody here needs what the lines say, so they are read only to find the fault
	// of a file that is not what was written.
	if !file.intact() {
		ids := map[string]bool{}
		if err := file.check(func(line []byte) (field, fault string) { return checkJobLine(ids, line) }); err != nil {
			return err
		}
	}
	s.Jobs = append(s.Jobs, JobFile{job.Name, file.path, file.seal.Lines, job.Window.Std(), file.data})
	return nil
}

// open reads the file called name, which the manifest must list.
func (m Manifest) open(dir, name string) (sealedFile, error) {
	var names []string
	for _, f := range m.Files {
		if f.Name != name {
			names = append(names, f.Name)
			continue
		}
		path := filepath.Join(dir, name)
		data, err := readContent(path)
		if errors.Is(err, os.ErrNotExist) {
			return sealedFile{}, fmt.Errorf("%s: the file is missing, but %s lists it", path, ManifestName)
		}
		if err != nil {
			return sealedFile{}, fmt.Errorf("opening inputs: %w", err)
		}
		return sealedFile{path, f, data}, nil
	}
	return sealedFile{}, fmt.Errorf("%s: files: found %s, expected %s too", filepath.Join(dir, ManifestName), strings.Join(names, ", "), name)
}
