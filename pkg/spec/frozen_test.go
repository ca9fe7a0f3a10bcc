package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// freeze writes e to a file as the pipeline does.
func freeze(t *testing.T, e Experiment) string {
	t.Helper()
	data, err := Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "experiment.yaml")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFrozenExperimentIsReadBackIdentical(t *testing.T) {
	for name, sets := range map[string][]string{
		"batch-gateway":    nil,
		"batch-gateway-ci": {"description=odd: # text, \"quoted\" 'twice' ", `question="two\nlines and 1"`, "profile.description=12", "profile.batch.jobs=[]", "margin=0.000001", "profile.interactive.phases.0.rate=1e-7"},
	} {
		e, err := LoadExperiment(name, sets)
		if err != nil {
			t.Fatal(err)
		}
		path := freeze(t, e)
		got, err := ReadExperiment(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, got) {
			t.Errorf("%s (-frozen +read):\n%s", name, cmp.Diff(e, got))
		}
		// The same file by the front door: nothing is laid over it.
		if got, err = LoadExperiment(path, nil); err != nil || !reflect.DeepEqual(e, got) {
			t.Errorf("%s loaded: %v (-frozen +loaded):\n%s", name, err, cmp.Diff(e, got))
		}
	}
}

func TestFrozenExperimentNamesEveryKey(t *testing.T) {
	e, err := LoadExperiment("batch-gateway-ci", nil)
	if err != nil {
		t.Fatal(err)
	}
	path := freeze(t, e)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.Replace(string(data), "      blockSize: 16\n", "", 1)
	if err := os.WriteFile(path, []byte(cut), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = ReadExperiment(path)
	wantError(t, err, "arms.0.engine.blockSize: missing")
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("found no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}
