package inputs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bgbench/pkg/batchfile"
	"bgbench/pkg/partial"
)

func TestFolderAppearsOnlyWhenWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t1")
	folder, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = folder.Write(ScheduleName, func(l *Lines) error { return l.Due(Due{Class: "interactive"}) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder is there before it is whole")
	}
	m, err := folder.Commit(Manifest{Trial: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Files) != 1 || m.Files[0].Name != ScheduleName || m.Files[0].Lines != 1 {
		t.Errorf("found the seals %+v", m.Files)
	}
	info, err := os.Stat(filepath.Join(dir, ScheduleName))
	if err != nil || info.Size() != m.Files[0].Bytes {
		t.Errorf("the file: %v, sealed %d bytes", err, m.Files[0].Bytes)
	}
	if _, err := os.Stat(dir + ".partial"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the partial folder is still there")
	}
}

func TestAbandonedFolderLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	folder, err := Create(filepath.Join(parent, "t1"))
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no more words")
	if err := folder.Write(PromptsName, func(*Lines) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("found %v, want the writer's error", err)
	}
	if err := folder.Abandon(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("found %v, %v", left, err)
	}
}

func TestCreateClearsWhatAKilledRunLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t1")
	killed, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir); !errors.As(err, new(*partial.BusyError)) {
		t.Errorf("found %v while the first writes, want that it does", err)
	}
	if err := killed.held.Close(); err != nil { // as the end of a process does
		t.Fatal(err)
	}
	stale := filepath.Join(dir+".partial", "job-old.jsonl")
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Error("a stale file would have become part of the inputs")
	}
}

func TestCreateSparesAStrangersFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t1")
	thesis := filepath.Join(dir+".partial", "thesis.tex")
	if err := os.MkdirAll(filepath.Dir(thesis), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(thesis, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir); err == nil || !strings.Contains(err.Error(), "thesis.tex, which is not a file of inputs") {
		t.Errorf("found %v", err)
	}
	if _, err := os.Stat(thesis); err != nil {
		t.Error(err)
	}
}

func TestJobFilesKeepTheGatewaysLimits(t *testing.T) {
	line := JobLine{User: "x"}
	size := int64(len(AppendJobLine(nil, line)))
	for name, full := range map[string]Lines{
		"50,000 lines": {lines: batchfile.MaxLines - 1},
		"200 MiB":      {bytes: batchfile.MaxBytes - size},
	} {
		t.Run(name, func(t *testing.T) {
			lines := NewLines(io.Discard)
			lines.lines, lines.bytes = full.lines, full.bytes
			if err := lines.Job(line); err != nil {
				t.Fatalf("the last line that fits: %v", err)
			}
			var limit LimitError
			if err := lines.Job(line); !errors.As(err, &limit) || limit.Lines != full.lines+2 {
				t.Errorf("one line more: found %v", err)
			}
			if seal := lines.seal("x"); seal.Lines != full.lines+1 {
				t.Errorf("the refused line was counted: %+v", seal)
			}
		})
	}
}
