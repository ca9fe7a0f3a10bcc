package inputs

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bgbench/pkg/batchfile"
	"bgbench/pkg/partial"
)

// Names in the folder.
const (
	ManifestName = "inputs.json"
	PromptsName  = "prompts.jsonl"
	ScheduleName = "schedule.jsonl"
)

// JobName is the name of the file of a batch job.
func JobName(job string) string { return "job-" + job + ".jsonl" }

// Folder is a folder that is being written. It appears under its own name only
// when Commit finds it whole.
type Folder struct {
	dir     string
	partial string
	held    *os.File // the unfinished folder, locked
	files   []File
}

// Create begins the folder dir. What an earlier, cut-off attempt left beside it is
// removed; while another process still writes there, this one is refused.
func Create(dir string) (*Folder, error) {
	f := &Folder{dir: filepath.Clean(dir)}
	f.partial = partial.Name(f.dir)
	var err error
	if f.held, err = partial.HoldFolder(f.dir); err != nil {
		return nil, fmt.Errorf("creating inputs: %w", err)
	}
	if err := f.clear(); err != nil {
		return nil, errors.Join(err, f.held.Close())
	}
	return f, nil
}

// clear empties the unfinished folder, but only of files that a Folder writes: a
// stranger's folder of the same name stays as it is.
func (f *Folder) clear() error {
	entries, err := os.ReadDir(f.partial)
	if err != nil {
		return fmt.Errorf("creating inputs: %w", err)
	}
	for _, e := range entries {
		if !ours(e.Name()) {
			return fmt.Errorf("creating inputs: %s holds %s, which is not a file of inputs", f.partial, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(f.partial, e.Name())); err != nil {
			return fmt.Errorf("creating inputs: %w", err)
		}
	}
	return nil
}

func ours(name string) bool {
	switch name {
	case ManifestName, PromptsName, ScheduleName:
		return true
	}
	return strings.HasPrefix(name, "job-") && strings.HasSuffix(name, ".jsonl")
}

// Write writes the file called name with the lines that write appends.
func (f *Folder) Write(name string, write func(*Lines) error) error {
	path := filepath.Join(f.partial, name)
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing inputs: %w", err)
	}
	defer file.Close()
	lines := NewLines(file)
	if err := write(lines); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Join(f.dir, name), err)
	}
	if err := errors.Join(lines.Flush(), file.Close()); err != nil {
		return fmt.Errorf("writing inputs: %w", err)
	}
	f.files = append(f.files, lines.seal(name))
	return nil
}

// Commit writes the manifest m, to which it adds the seals of the files, and gives
// the folder its name.
func (f *Folder) Commit(m Manifest) (Manifest, error) {
	m.SchemaVersion = schemaVersion
	m.Files = f.files
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return Manifest{}, fmt.Errorf("writing %s: %w", ManifestName, err)
	}
	if err := os.WriteFile(filepath.Join(f.partial, ManifestName), append(data, '\n'), 0o644); err != nil {
		return Manifest{}, fmt.Errorf("writing inputs: %w", err)
	}
	// An empty folder makes way; os.Remove fails on any other.
	if info, err := os.Lstat(f.dir); err == nil && info.IsDir() {
		if err := os.Remove(f.dir); err != nil {
			return Manifest{}, fmt.Errorf("writing inputs: %w", err)
		}
	}
	if err := os.Rename(f.partial, f.dir); err != nil {
		return Manifest{}, fmt.Errorf("writing inputs: %w", err)
	}
	return m, f.held.Close()
}

// Abandon removes what was written.
func (f *Folder) Abandon() error {
	err := f.clear()
	if err == nil {
		err = os.Remove(f.partial)
	}
	return errors.Join(err, f.held.Close())
}

// Lines is a file of JSON lines that counts and hashes what goes through it.
type Lines struct {
	w     *bufio.Writer
	sum   hash.Hash
	crc   hash.Hash32
	lines int
	bytes int64
	buf   []byte
}

// NewLines returns Lines on w; Flush ends them.
func NewLines(w io.Writer) *Lines {
	sum, crc := sha256.New(), crc32.New(castagnoli)
	return &Lines{w: bufio.NewWriterSize(io.MultiWriter(w, sum, crc), 1<<18), sum: sum, crc: crc}
}

// SystemPrompt writes a line of prompts.jsonl.
func (l *Lines) SystemPrompt(s SystemPrompt) error {
	l.buf = AppendSystemPrompt(l.buf[:0], s)
	return l.line()
}

// Prompt writes a line of prompts.jsonl.
func (l *Lines) Prompt(p Prompt) error {
	l.buf = AppendPrompt(l.buf[:0], p)
	return l.line()
}

// Due writes a line of schedule.jsonl.
func (l *Lines) Due(d Due) error {
	l.buf = AppendDue(l.buf[:0], d)
	return l.line()
}

// LimitError says that a job file would be larger than the batch gateway accepts.
type LimitError struct {
	Lines int
	Bytes int64
}

func (e LimitError) Error() string {
	return fmt.Sprintf("line %d brings the file to %d bytes, but the batch gateway takes %d lines and %d bytes at most",
		e.Lines, e.Bytes, batchfile.MaxLines, batchfile.MaxBytes)
}

// Hint says what to change.
func (e LimitError) Hint() string {
	return "split the job or lower its requests, isl or system prompt"
}

// Job writes a line of a job file.
func (l *Lines) Job(line JobLine) error {
	l.buf = AppendJobLine(l.buf[:0], line)
	if n := l.bytes + int64(len(l.buf)); l.lines >= batchfile.MaxLines || n > batchfile.MaxBytes {
		return LimitError{l.lines + 1, n}
	}
	return l.line()
}

func (l *Lines) line() error {
	l.lines++
	l.bytes += int64(len(l.buf))
	_, err := l.w.Write(l.buf)
	return err
}

// Flush writes what is buffered.
func (l *Lines) Flush() error { return l.w.Flush() }

func (l *Lines) seal(name string) File {
	return File{
		Name: name, Lines: l.lines, Bytes: l.bytes,
		SHA256: hex.EncodeToString(l.sum.Sum(nil)), CRC32C: crcText(l.crc.Sum32()),
	}
}
