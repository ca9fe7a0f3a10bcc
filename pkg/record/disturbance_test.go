package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDisturbancesAreReadAsTheyWereWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), DisturbancesFile)
	if _, watched, err := ReadDisturbances(path); watched || err != nil {
		t.Errorf("without a file: watched %t, %v", watched, err)
	}
	want := []Disturbance{
		{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "restart", "pod vllm-0", "container vllm: Error, exit code 1"},
		{time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC), "gone", "pod redis-0", ""},
	}
	var text bytes.Buffer
	if err := WriteDisturbances(&text, want); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, watched, err := ReadDisturbances(path)
	if diff := cmp.Diff(want, got); diff != "" || !watched || err != nil {
		t.Errorf("watched %t, %v\n%s", watched, err, diff)
	}
	if err := os.WriteFile(path, append(text.Bytes(), `{"at": 1}`...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadDisturbances(path); err == nil {
		t.Error("a broken line was read")
	}
}
