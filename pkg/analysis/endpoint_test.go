package analysis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestACellOfAnEndpointInAnotherFolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "cells", "mine", "t1")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	meta := `{"schema_version":1,"experiment":"quick","arm":"endpoint","trial":1,"target":"endpoint","stack":{"arm":{"name":"endpoint"}}}`
	if err := os.WriteFile(filepath.Join(at, metadataFile), []byte(meta), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := experimentIn(dir)
	want := at + " is trial 1 of arm endpoint, expected it in " + filepath.Join(dir, "cells", "endpoint", "t1")
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("found %v, expected %s", err, want)
	}
}
