package spec

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// resolved returns everything in the catalogue, resolved, by kind and name.
func resolved(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, k := range []kind{profileKind, armKind, experimentKind} {
		for _, name := range append(k.names(), base) {
			var v any
			var err error
			switch k {
			case profileKind:
				v, err = LoadProfile(name, nil)
			case armKind:
				v, err = LoadArm(name, nil)
			default:
				v, err = LoadExperiment(name, nil)
			}
			if name == base && k != armKind {
				if err == nil {
					t.Errorf("the defaults of %ss stand on their own, expected what is not there to be asked for", k)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Join(string(k)+"s", name+".yaml")] = v
		}
	}
	return all
}

func TestCatalogueResolvesAsInItsGoldenFiles(t *testing.T) {
	for file, v := range resolved(t) {
		got, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "resolved", file)
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
}

func TestCatalogueNamesAreFileNames(t *testing.T) {
	for file, v := range resolved(t) {
		name := reflect.ValueOf(v).FieldByName("Name").String()
		if want := name + ".yaml"; filepath.Base(file) != want {
			t.Errorf("catalogue %s calls itself %s", file, name)
		}
	}
}

// What the bursts and phases of the catalogue must offer for their percentiles to
// exist: a p95 needs 59 values.
func TestMeasuredBurstsOfferEnoughForAP95(t *testing.T) {
	for _, name := range profileKind.names() {
		p, err := LoadProfile(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name == "eviction-mechanism" { // of three requests
			continue
		}
		burst := p.Interactive.Phases[0]
		for _, phase := range p.Interactive.Phases {
			if phase.Offered() > burst.Offered() {
				burst = phase
			}
		}
		measured := burst.Offered() * burst.Duration.Seconds() * float64(p.Interactive.Cycles-p.Interactive.WarmupCycles)
		// Three standard deviations of a Poisson count below the mean.
		if low := measured - 3*math.Sqrt(measured); low < 59 {
			t.Errorf("profile %s: the measured bursts may offer as few as %.0f requests", name, low)
		}
	}
}
