package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFolderArrivesAsItWas(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(from, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"one": "1", "a/two": strings.Repeat("2", 100_000), "a/b/empty": ""} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stream bytes.Buffer
	if err := Write(&stream, []Entry{{Name: "head", Content: []byte("h")}, {Name: "in", Path: from}}); err != nil {
		t.Fatal(err)
	}
	if err := Read(&stream, to); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"head": 1, "in/one": 1, "in/a/two": 100_000, "in/a/b/empty": 0} {
		content, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || len(content) != size {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
	}
}

func TestWhatLeadsOutOfTheFolderIsRefused(t *testing.T) {
	for name, header := range map[string]tar.Header{
		"a path upwards":   {Name: "../evil", Typeflag: tar.TypeReg},
		"an absolute path": {Name: "/tmp/evil", Typeflag: tar.TypeReg},
		"a link":           {Name: "evil", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink},
	} {
		t.Run(name, func(t *testing.T) {
			var stream bytes.Buffer
			w := tar.NewWriter(&stream)
			if err := w.WriteHeader(&header); err != nil {
				t.Fatal(err)
			}
			w.Close()
			dir := t.TempDir()
			if err := Read(&stream, dir); err == nil {
				t.Error("it was unpacked")
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestAStreamThatIsCutIsAnError(t *testing.T) {
	var stream bytes.Buffer
	if err := Write(&stream, []Entry{{Name: "x", Content: make([]byte, 5000)}}); err != nil {
		t.Fatal(err)
	}
	stream.Truncate(3000)
	if err := Read(&stream, t.TempDir()); err == nil {
		t.Error("found no error")
	}
}

func TestAwaitEndsWithTheFileOrTheContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := Await(ctx, file); err == nil {
		t.Error("a file that is not there was found")
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Await(t.Context(), file); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	var stream bytes.Buffer
	if err := Write(&stream, []Entry{{Name: "a/b", Content: []byte("x")}}); err != nil {
		f.Fatal(err)
	}
	f.Add(stream.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		_ = Read(bytes.NewReader(data), dir) // whatever it says, nothing is outside
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Errorf("found %v, %v beside the folder", entries, err)
		}
	})
}
