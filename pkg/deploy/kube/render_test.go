package kube

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/deploy"
	"bgbench/pkg/spec"
)

var update = flag.Bool("update", false, "write the golden files")

// cellOf is a cell of a catalogue arm whose run is always the same.
func cellOf(t *testing.T, arm string, o Options, sets ...string) (Cell, error) {
	t.Helper()
	plan, err := deploy.Plan(deploy.Request{Arm: arm, Profile: "ci", Target: spec.TargetKube, Trial: 1, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	plan.RunID = "00000000-0000-0000-0000-000000000001"
	if o.Versions, err = LoadVersions("", nil, nil); err != nil {
		t.Fatal(err)
	}
	return NewCell(plan, o)
}

func render(t *testing.T, c Cell) string {
	t.Helper()
	var page bytes.Buffer
	if err := c.Render(t.Context(), &page, RenderOptions{}); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "render", name+".yaml")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test ./pkg/deploy/kube -update writes it):\n%s", file, diff)
	}
}

func TestEveryArmOfTheCatalogueIsRenderedOrRefused(t *testing.T) {
	arms, err := spec.Arms()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range arms {
		arm := entry.Name
		t.Run(arm, func(t *testing.T) {
			cell, err := cellOf(t, arm, Options{PrometheusURL: "http://prometheus.monitoring:9090"})
			if err != nil {
				hint := ""
				if h, ok := errors.AsType[interface {
					error
					Hint() string
				}](err); ok {
					hint = "hint: " + h.Hint() + "\n"
				}
				golden(t, arm, "# "+err.Error()+"\n# "+hint)
				return
			}
			golden(t, arm, render(t, cell))
		})
	}
}

func TestAPoolOnGPUsIsAMatterOfParameters(t *testing.T) {
	cell, err := cellOf(t, "s3-admission-aimd", Options{
		Mode: ModeGPU, GPUs: -1, Revision: "0123456789abcdef0123456789abcdef01234567",
		NodeSelector: map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, StorageClass: "fast-rwx",
		MonitorLabels: map[string]string{"release": "prometheus"},
		WeightsPath:   "/mnt/models", ModelToken: "hf_of_nobody",
	}, "engine.tensorParallelSize=4", "engine.replicas=2")
	if err != nil {
		t.Fatal(err)
	}
	page := render(t, cell)
	golden(t, "gpu", page)
	if strings.Contains(page, "hf_of_nobody") {
		t.Error("what is rendered shows the token of the model")
	}
}

func TestARouterBehindAGatewayIsAMatterOfAParameter(t *testing.T) {
	cell, err := cellOf(t, "s4-flow-control-aimd", Options{Router: RouterGateway})
	if err != nil {
		t.Fatal(err)
	}
	page := render(t, cell)
	golden(t, "gateway", page)
	const url = "http://llm-d-inference-gateway-istio.bgbench-s4-flow-control-aimd-t1.svc:80"
	if cell.inferenceURL() != url || !strings.Contains(page, "url: "+url) {
		t.Errorf("the stack is entered at %s, expected %s for all", cell.inferenceURL(), url)
	}
}

func TestWhatAClusterCannotHonourIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		arm  string
		o    Options
		sets []string
		want string
	}{
		"a quirk that is off": {"s2-ungated", Options{}, []string{"gateway.quirks.globalPerJob=false"},
			"arm s2-ungated: gateway.quirks.globalPerJob: found false, expected true on target kube"},
		"a processor killed by schedule": {"s2-ungated", Options{}, []string{"gateway.restarts=[{at: 10s, signal: SIGKILL, downFor: 1s}]"},
			"arm s2-ungated: gateway.restarts: found 1, expected none on target kube"},
		"a stream that is resumed": {"e-none", Options{}, nil,
			"arm e-none: async.resume: found true, expected false on target kube"},
		"a gate without the server that it asks": {"s5-async", Options{}, nil,
			"arm s5-async: async.gate.type: found prometheus-budget, which asks a Prometheus server, and no address of one"},
		"a model that is whatever its repository has today": {"s2-ungated", Options{Mode: ModeGPU, GPUs: -1}, nil,
			"model Qwen/Qwen3-8B: found no revision, expected the commit of its repository"},
		"another router": {"s2-ungated", Options{Router: "haproxy"}, nil, `--router: found "haproxy", expected standalone or gateway`},
		"another pool":   {"s2-ungated", Options{Pool: "ray"}, nil, `--pool: found "ray", expected deployment or kserve`},
		"presets of vLLM around another server": {"s2-ungated", Options{Pool: PoolKServe}, nil,
			"--pool: found kserve in mode sim, expected it in mode gpu: the presets of KServe are those of vLLM"},
		"weights in a folder of whichever directory": {"s2-ungated", Options{Mode: ModeGPU, WeightsPath: "models"}, nil,
			`--weights-path: found "models", expected the absolute path of a folder on the nodes`},
		"weights over everything on a node": {"s2-ungated", Options{Mode: ModeGPU, WeightsPath: "/mnt/.."}, nil,
			`--weights-path: found "/mnt/..", expected the absolute path of a folder on the nodes`},
		"fewer GPUs than none":      {"s2-ungated", Options{Mode: ModeGPU, GPUs: -5}, nil, "--gpus: found -5, expected 0 or more"},
		"a volume of less than all": {"s2-ungated", Options{VolumeSize: "-5Gi"}, nil, `--volume-size: found "-5Gi", expected a size such as 10Gi`},
		"a volume of some size":     {"s2-ungated", Options{VolumeSize: "big"}, nil, `--volume-size: found "big", expected a size such as 10Gi`},
		"weights for a simulator": {"s2-ungated", Options{WeightsPath: "/mnt/models"}, nil,
			"--weights-path: found it in mode sim, expected mode gpu"},
		"another mode": {"s2-ungated", Options{Mode: "tpu"}, nil, `--mode: found "tpu", expected sim or gpu`},
		"a namespace that is no name": {"s2-ungated", Options{Namespace: "My_Cell"}, nil,
			`--namespace: found "My_Cell", expected up to 63 lower-case letters, digits and -`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cellOf(t, tt.arm, tt.o, tt.sets...)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAQuirkIsNobodysBusinessWithoutABatchGateway(t *testing.T) {
	if _, err := cellOf(t, "s0-interactive-only", Options{}, "gateway.quirks.globalPerJob=false"); err != nil {
		t.Error(err)
	}
}

func TestEveryObjectCarriesBothLabels(t *testing.T) {
	cell, err := cellOf(t, "s4-flow-control-aimd", Options{MonitorLabels: map[string]string{"release": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := cell.Steps()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range steps {
		for _, o := range s.Objects {
			n++
			if l := o.GetLabels(); l[LabelManagedBy] != managedBy || l[LabelRun] != cell.Plan.RunID {
				t.Errorf("%s has labels %v", title(o), l)
			}
			if o.GetKind() != "Namespace" && o.GetNamespace() != cell.Namespace {
				t.Errorf("%s is not in the cell's namespace", title(o))
			}
		}
	}
	if n < 15 {
		t.Errorf("found %d objects, expected a whole stack", n)
	}
}

func TestTheRequestIsTheSameForTwoRunsAndAnotherForAnotherArm(t *testing.T) {
	one, err := cellOf(t, "s2-ungated", Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := one
	again.Plan.RunID = "another"
	other, err := cellOf(t, "s2-ungated", Options{}, "gateway.numWorkers=1")
	if err != nil {
		t.Fatal(err)
	}
	if one.request() != again.request() || one.request() == other.request() {
		t.Errorf("requests %s, %s and %s", one.request(), again.request(), other.request())
	}
}
