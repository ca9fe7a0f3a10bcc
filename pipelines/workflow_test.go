package pipelines

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestWorkflowsOfGitHubHaveNoFaults(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no workflow: %v", err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := linter.LintFiles(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// tektonTask is what a task of Tekton (tekton.dev/v1) has, as far as ours uses it.
type tektonTask struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Description string `json:"description"`
		Params      []struct {
			Name, Type, Description, Default string
		} `json:"params"`
		Workspaces []struct {
			Name string `json:"name"`
		} `json:"workspaces"`
		Results []struct {
			Name, Description string
		} `json:"results"`
		Steps []tektonStep `json:"steps"`
	} `json:"spec"`
}

type tektonStep struct {
	Name             string                      `json:"name"`
	Image            string                      `json:"image"`
	WorkingDir       string                      `json:"workingDir"`
	Env              []corev1.EnvVar             `json:"env"`
	ComputeResources corev1.ResourceRequirements `json:"computeResources"`
	SecurityContext  *corev1.SecurityContext     `json:"securityContext"`
	Script           string                      `json:"script"`
}

func readTask(t *testing.T) tektonTask {
	t.Helper()
	text, err := os.ReadFile("tekton/benchmark.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var task tektonTask
	if err := yaml.UnmarshalStrict(text, &task); err != nil {
		t.Fatal(err)
	}
	return task
}

// Every variable of the task is one that it declares.
func TestTaskOfTektonIsOfItsKind(t *testing.T) {
	task := readTask(t)
	if task.APIVersion != "tekton.dev/v1" || task.Kind != "Task" || task.Name == "" || len(task.Spec.Steps) != 1 {
		t.Fatalf("found %s %s %q with %d steps", task.APIVersion, task.Kind, task.Name, len(task.Spec.Steps))
	}
	known := map[string]bool{}
	for _, p := range task.Spec.Params {
		known["params."+p.Name] = true
	}
	for _, w := range task.Spec.Workspaces {
		known["workspaces."+w.Name+".path"] = true
	}
	for _, r := range task.Spec.Results {
		known["results."+r.Name+".path"] = true
	}
	step := task.Spec.Steps[0]
	texts := []string{step.WorkingDir}
	for _, e := range step.Env {
		texts = append(texts, e.Value)
	}
	for _, text := range texts {
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, "$(")
			if !ok {
				break
			}
			name, end, _ := strings.Cut(after, ")")
			if rest = end; !known[name] {
				t.Errorf("%q: $(%s) is not declared", text, name)
			}
		}
	}
}

// The script of the step says by its result how the gate ended, and ends as it did.
func TestTaskOfTektonEndsAsItsGate(t *testing.T) {
	script := readTask(t).Spec.Steps[0].Script
	for _, c := range []struct {
		code    string
		verdict string
	}{{"0", "passed"}, {"3", "regression"}, {"2", "error"}} {
		t.Run("exit code "+c.code+" is "+c.verdict, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "pipelines"), 0o755); err != nil {
				t.Fatal(err)
			}
			gate := "#!/bin/sh\necho \"$@\"\nexit " + c.code + "\n"
			for name, text := range map[string]string{"pipelines/ci-gate.sh": gate, "Makefile": "build:\n\t@true\n", "step": script} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "./step")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "EXPERIMENT=e", "BASELINE=b", "OUT=o", "VERDICT="+filepath.Join(dir, "verdict"))
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); c.code != string(rune('0'+code)) || !bytes.Contains(out, []byte("e b o")) {
				t.Errorf("it ended with %d (%v) and said %q", code, err, out)
			}
			if verdict, err := os.ReadFile(filepath.Join(dir, "verdict")); err != nil || string(verdict) != c.verdict {
				t.Errorf("found the result %q (%v), expected %q", verdict, err, c.verdict)
			}
		})
	}
}
