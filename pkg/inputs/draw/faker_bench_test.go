package draw

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkFaker is BenchmarkTrial's alternative: the same shape of text by Python's
// faker, of which Debian's package is python3-fake-factory.
func BenchmarkFaker(b *testing.B) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import faker").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		b.Skip("no python3 with faker: apt-get install python3-fake-factory")
	}
	const requests = 100
	tokens := 0
	for b.Loop() {
		out, err := exec.Command(python, "testdata/prompts.py", strconv.Itoa(requests), filepath.Join(b.TempDir(), "job.jsonl")).Output()
		if err != nil {
			b.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			b.Fatal(err)
		}
		tokens += n
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}
