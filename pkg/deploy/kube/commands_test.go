//go:build kube

package kube

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"bgbench/pkg/deploy"
)

// tools runs our programs as a user types them, under the account of rbac.yaml.
type tools struct {
	t           *testing.T
	dir         string // working folder
	environment []string
}

// toolsOf finds the programs in the folder that BG_TEST_TOOLS names.
func toolsOf(t *testing.T) tools {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "profile.yaml"), []byte(shortProfile), 0o644); err != nil {
		t.Fatal(err)
	}
	root := admin(t)
	config := api.NewConfig()
	config.CurrentContext = "account"
	config.Contexts["account"] = &api.Context{Cluster: "cluster", AuthInfo: "account"}
	config.AuthInfos["account"] = &api.AuthInfo{Token: token(t, root)}
	config.Clusters["cluster"] = &api.Cluster{
		Server: root.config.Host, TLSServerName: root.config.ServerName, InsecureSkipTLSVerify: root.config.Insecure,
		CertificateAuthority: root.config.CAFile, CertificateAuthorityData: root.config.CAData,
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return tools{t, dir, append(os.Environ(), "KUBECONFIG="+file, "BG_PLAIN_HTTP=true", "BG_VOLUME_SIZE=1Gi")}
}

// command is a program that has not begun.
func (u tools) command(program string, arguments ...string) *exec.Cmd {
	u.t.Helper()
	folder, err := filepath.Abs(os.Getenv("BG_TEST_TOOLS"))
	if err != nil {
		u.t.Fatal(err)
	}
	cmd := exec.CommandContext(within(u.t, 6*time.Minute), filepath.Join(folder, program), arguments...)
	cmd.Dir, cmd.Env, cmd.Stderr = u.dir, u.environment, talk{u.t}
	return cmd
}

// run runs a program and returns what it said and its exit code.
func (u tools) run(program string, arguments ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	var out, said bytes.Buffer
	cmd := u.command(program, arguments...)
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&said, talk{u.t})
	if err := cmd.Run(); cmd.ProcessState == nil {
		u.t.Fatalf("%s: %v", program, err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// does wants a program to succeed, and to say what matches.
func (u tools) does(say, program string, arguments ...string) string {
	u.t.Helper()
	stdout, stderr, code := u.run(program, arguments...)
	if code != 0 || !regexp.MustCompile(say).MatchString(stdout) {
		u.t.Fatalf("%s %s: exit code %d: %s%s, expected 0 and %q", program, strings.Join(arguments, " "), code, stdout, stderr, say)
	}
	return stdout
}

// fails wants a program to end with a code, and to say what matches.
func (u tools) fails(code int, say, program string, arguments ...string) {
	u.t.Helper()
	stdout, stderr, got := u.run(program, arguments...)
	if got != code || !regexp.MustCompile(say).MatchString(stderr) {
		u.t.Errorf("%s %s: exit code %d: %s%s, expected %d and %q", program, strings.Join(arguments, " "), got, stdout, stderr, code, say)
	}
}

func TestTheCommandsTakeACellThroughItsLife(t *testing.T) {
	t.Parallel()
	root, c, u := admin(t), account(t), toolsOf(t)
	const namespace = "commands"
	tearDown(t, c, namespace)
	cell := []string{"--arm", "s5-async", "--profile", "profile.yaml", "--target", "kube", "--namespace", namespace}
	u.does("", "bg-gen", "inputs", "-p", "profile.yaml", "--trial", "1", "-o", "inputs")
	u.does("(?m)^kind: InferencePool$", "bg-deploy", append([]string{"render", "--expand"}, cell...)...)
	u.does("", "bg-deploy", append([]string{"up"}, cell...)...)
	u.does(`batch-gateway-processor\S* +ready +0 restarts`, "bg-deploy", "status")
	u.does(`endpoint picker: configuration in its log .* ok\n`, "bg-deploy", "verify")
	load := []string{"load", "--stack", "stack.json", "--inputs", "inputs", "-o", "cell"}
	cutOff(t, c, u.command("bg-deploy", load...), filepath.Join(u.dir, "stack.json"))
	u.does("", "bg-deploy", load...) // waits for the Job that runs
	u.does(`every batch line has one result +ok`, "bg-analyze", "cell", "--format", "table", "cell")
	// The way to a Service leads there, and what answers is not a Prometheus server.
	u.environment = slices.DeleteFunc(u.environment, func(v string) bool { return strings.HasPrefix(v, "PROMETHEUS_URL=") })
	u.fails(1, `404`, "bg-scrape", "range", "--prometheus-service", namespace+"/vllm:8000", "--cell", "cell", "-o", "range.parquet")
	u.does("", "bg-deploy", "forward", "--stack", "stack.json", "-o", "outside.json", "--", "sh", "-c", `grep -q '"inference_url": "http://127.0.0.1:' outside.json`)
	u.does("", "bg-deploy", "down")
	gone(t, root, namespace)
}

// cutOff interrupts a load while its generator runs.
func cutOff(t *testing.T, c *Cluster, load *exec.Cmd, stackFile string) {
	t.Helper()
	stack, err := deploy.ReadStack(stackFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = c.loadPods(within(t, 3*time.Minute), LoadOptions{Stack: stack, Talk: io.Discard}, "the generator", generating)
	if err := errors.Join(err, load.Process.Signal(os.Interrupt)); err != nil {
		t.Fatal(err)
	}
	if err := load.Wait(); load.ProcessState.ExitCode() != 130 {
		t.Errorf("a load that is interrupted: found %v, expected exit code 130", err)
	}
}

func TestAnExperimentEndsInAReport(t *testing.T) {
	t.Parallel()
	root, c, u := admin(t), account(t), toolsOf(t)
	names := []string{"s0-interactive-only", "s6-low-concurrency"}
	for _, arm := range names {
		tearDown(t, c, namespaceOf("experiment", arm, 1))
	}
	file := filepath.Join(u.dir, "short.yaml")
	text := fmt.Sprintf("name: short\ntarget: kube\ntrials: 1\nprofile: %s\narms: [%s]\n", filepath.Join(u.dir, "profile.yaml"), strings.Join(names, ", "))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(u.dir, "results")
	u.environment = append(u.environment, "BG_NAMESPACE_PREFIX=experiment")
	// The tools are those in bin of the repository: what with-cluster.sh has in its environment
	// changes nothing of it.
	make := exec.CommandContext(within(t, 10*time.Minute), "make", "-f", "pipelines/experiment.mk", "EXPERIMENT="+file, "OUT="+out)
	make.Dir, make.Env, make.Stdout, make.Stderr = filepath.Join("..", "..", ".."), u.environment, talk{t}, talk{t}
	if err := make.Run(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(out, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, arm := range names {
		if !strings.Contains(string(page), arm) {
			t.Errorf("the report has nothing of %s:\n%s", arm, page)
		}
		gone(t, root, namespaceOf("experiment", arm, 1))
	}
}

func TestWhatFailsIsTornDownUnlessItIsKept(t *testing.T) {
	t.Parallel()
	root, c, u := admin(t), account(t), toolsOf(t)
	const namespace, image = "failing", "localhost:1/none:1" // where nobody listens
	tearDown(t, c, namespace)
	cell := []string{"--arm", "s0-interactive-only", "--profile", "profile.yaml", "--target", "kube", "--namespace", namespace}
	stuck := append(cell, "--image", os.Getenv("BG_IMAGE")+",vllm="+image)
	pod := `model servers: pod vllm-\S*, container vllm: ImagePullBackOff: .*` + image
	u.fails(1, pod+`(?s).*tearing down \(--keep leaves it\)`, "bg-deploy", append([]string{"up"}, stuck...)...)
	gone(t, root, namespace)
	u.fails(1, pod, "bg-deploy", append([]string{"up", "--keep"}, stuck...)...)
	if ns, err := root.get(t.Context(), kindNamespace, "", namespace); err != nil || ns == nil {
		t.Errorf("up --keep left no namespace: %v", err)
	}
	u.does("", "bg-deploy", "down", "--namespace", namespace)
	gone(t, root, namespace)
	u.fails(7, "", "bg-deploy", append(append([]string{"exec"}, cell...), "--", "sh", "-c", `test -s "$BG_STACK" && exit 7`)...)
	gone(t, root, namespace)
}

// gone wants a namespace not to be there.
func gone(t *testing.T, root *Cluster, namespace string) {
	t.Helper()
	if ns, err := root.get(t.Context(), kindNamespace, "", namespace); err != nil || ns != nil {
		t.Errorf("namespace %s is there still: %v", namespace, err)
	}
}
