package engine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// These tests hold docs/model.md to the code: whoever changes one of its figures
// finds here which line of the page is no longer true.
const documentPath = "../../../docs/model.md"

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documentTable returns the rows of the first table under a heading of docs/model.md.
func documentTable(t *testing.T, heading string) [][]string {
	t.Helper()
	_, text, found := strings.Cut(document(t), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/model.md has no heading %q", heading)
	}
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 || strings.HasPrefix(line, "#") {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("docs/model.md has no table under %q", heading)
	}
	return rows[2:]
}

// compareTable holds the table under heading against want, whose rows are what code
// gives; columns is how many of the page's columns are the code's.
func compareTable(t *testing.T, heading string, columns int, want [][]string) {
	t.Helper()
	got := documentTable(t, heading)
	if len(got) != len(want) {
		t.Errorf("%s: the page has %d rows, want %d", heading, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if len(got[i]) < columns || !slices.Equal(got[i][:columns], want[i]) {
			t.Errorf("%s: row %d\n page | %s |\n code | %s |", heading, i+1, strings.Join(got[i], " | "), strings.Join(want[i], " | "))
		}
	}
}

func TestTheDocumentsConstants(t *testing.T) {
	us := func(seconds float64) string { return decimal(seconds*1e6) + " us" }
	compareTable(t, "### Constants", 2, [][]string{
		{"a0, a step", us(stepOverhead)},
		{"aL, a layer", us(layerOverhead)},
		{"aR, a request in the step", us(requestOverhead)},
		{"eW, share of memory bandwidth when reading weights", decimal(weightEfficiency)},
		{"eK, share of memory bandwidth when reading KV", decimal(kvEfficiency)},
		{"mfu, share of peak FLOPS", decimal(flopsEfficiency)},
		{"base, an all-reduce", us(reduceBase)},
		{"hop, a step of the ring", us(reduceHop)},
		{"reserve, memory beside weights and KV", decimal(reservedBytes/gib) + " GiB"},
		{"API server, before a request is queued", requestLatency.String()},
		{"API server, after the step of a token", tokenLatency.String()},
	})
	var gpus [][]string
	for _, g := range GPUs() {
		gpus = append(gpus, []string{
			g.Name, decimal(g.PeakFLOPS / 1e12), decimal(g.Bandwidth / 1e12), decimal(g.NVLink / 1e9), decimal(g.MemoryGiB),
			strconv.Itoa(g.MaxNumSeqs), strconv.Itoa(g.MaxNumBatchedTokens),
		})
	}
	compareTable(t, "### GPUs", 7, gpus)
}

func TestTheDocumentsKVCacheSizes(t *testing.T) {
	var want [][]string
	for _, c := range []struct {
		model, gpu  string
		tp          int
		utilization float64
	}{
		{"Qwen2.5-32B", "H200", 1, 0.92},
		{"Qwen2.5-32B", "H200", 1, 0.90},
		{"Qwen3-8B", "H100", 1, 0.92},
		{"Qwen2.5-14B", "H100", 1, 0.92},
		{"Qwen2.5-72B", "H100", 2, 0.92},
		{"Qwen2.5-72B", "H100", 4, 0.92},
	} {
		cfg := documentConfig(t, c.model, c.gpu, c.tp, c.utilization)
		want = append(want, []string{c.model, fmt.Sprintf("%d x %s", c.tp, c.gpu), decimal(c.utilization), strconv.Itoa(16 * cfg.Scheduler.NumGPUBlocks)})
	}
	compareTable(t, "### KV cache", 4, want)
}

func TestTheDocumentsStepTimes(t *testing.T) {
	var want [][]string
	for _, c := range []struct {
		model, gpu string
		tp         int
	}{
		{"Qwen2.5-1.5B", "H200", 1}, {"Qwen3-8B", "A100-80", 1}, {"Qwen3-8B", "H100", 1}, {"Qwen3-8B", "H200", 1},
		{"Qwen2.5-14B", "H200", 1}, {"Qwen2.5-32B", "H200", 1}, {"Qwen2.5-72B", "H100", 2},
	} {
		cost := documentConfig(t, c.model, c.gpu, c.tp, 0.92).Cost
		row := []string{c.model, fmt.Sprintf("%d x %s", c.tp, c.gpu)}
		for _, l := range []Load{decodes(1, 1000), decodes(32, 1000), decodes(32, 5000), decodes(128, 2000), prefill(500), prefill(2048), prefill(8192)} {
			row = append(row, milliseconds(cost.StepTime(l)))
		}
		want = append(want, row)
	}
	compareTable(t, "### Step times", 9, want)
}

// published is one measurement of somebody else.
type published struct {
	what, found string
	model       string
}

func TestTheDocumentsCrossChecks(t *testing.T) {
	h100 := documentConfig(t, "Qwen3-8B", "H100", 1, 0.92)
	two := documentConfig(t, "Qwen2.5-72B", "H100", 2, 0.92)
	tpot, rate := closedLoop(t, documentConfig(t, "Qwen3-4B", "H100", 1, 0.92), "Qwen/Qwen3-4B", 80, 512, 128)
	ttft := func(n int) string { return milliseconds(two.RequestLatency+two.Cost.StepTime(prefill(n))) + " ms" }
	rows := []published{
		{"Qwen3-8B, H100, ShareGPT, one at a time: a token", "7.5 to 8.3 ms", milliseconds(h100.Cost.StepTime(decodes(1, 500))) + " ms"},
		{"the same, eight at a time over one", "1.07", decimal2(ratio(h100.Cost.StepTime(decodes(8, 500)), h100.Cost.StepTime(decodes(1, 500))))},
		{"Qwen3-4B, H100, 80 at a time, 512 in, 128 out: mean TPOT", "10.2 ms", milliseconds(tpot) + " ms"},
		{"the same: tokens in and out", "26,700 /s", thousands(rate) + " /s"},
		{"Qwen2.5-72B, 2 x H100, one at a time, 128 in: a token", "30.9 ms", milliseconds(two.Cost.StepTime(decodes(1, 192))) + " ms"},
		{"the same, 8,192 in: a token", "31.3 ms", milliseconds(two.Cost.StepTime(decodes(1, 8256))) + " ms"},
		{"the same, 128 in: TTFT", "35 to 41 ms", ttft(128)},
		{"the same, 1,024 in: TTFT", "129 ms", ttft(1024)},
		{"the same, 2,048 in: TTFT", "150 ms", ttft(2048)},
		{"the same, 3,072 in: TTFT", "271 ms", ttft(3072)},
		{"the same, 4,096 in: TTFT", "505 ms", ttft(4096)},
		{"the same, 8,192 in: TTFT", "1064 ms", ttft(8192)},
	}
	var want [][]string
	for _, r := range rows {
		want = append(want, []string{r.what, r.found, r.model})
	}
	compareTable(t, "### Against published runs", 3, want)

	// What the page says about the 2,048-token row: it leaves no room for bfloat16.
	m, g := model(t, "Qwen2.5-72B"), gpu(t, "H100")
	atPeak := 2 * m.layerParams() * 2048 / (2 * g.PeakFLOPS) * 1e3
	if want := fmt.Sprintf("%.0f ms of FLOPs at full peak", atPeak); !strings.Contains(document(t), want) {
		t.Errorf("the page does not say %q", want)
	}
}

// closedLoop keeps n requests in flight, each of its own prompt, and returns the
// mean TPOT and the tokens a second, both without the first and the last wave.
func closedLoop(t *testing.T, cfg Config, name string, n, input, output int) (tpot time.Duration, perSecond float64) {
	t.Helper()
	const waves = 6
	k := kernel.NewVirtual()
	cfg.Model = name
	s := New(k, cfg)
	var answers []*answer
	var submit func()
	submit = func() {
		if len(answers) == waves*n {
			return
		}
		a := &answer{k: k, onEnd: func() { submit() }}
		answers = append(answers, a)
		s.Submit(&sim.Call{ID: fmt.Sprint(len(answers)), Model: name, Prompt: prompt(len(answers), input), MaxTokens: output}, a)
	}
	k.At(0, func() {
		for range n {
			submit()
		}
	})
	runToEnd(t, k)
	var sum time.Duration
	measured := answers[n : (waves-1)*n]
	ends := make([]kernel.Time, 0, len(answers))
	for _, a := range answers {
		ends = append(ends, a.tokenTimes()[output-1])
	}
	slices.Sort(ends)
	for _, a := range measured {
		at := a.tokenTimes()
		sum += (at[output-1] - at[0]) / time.Duration(output-1)
	}
	span := ends[(waves-1)*n-1] - ends[n-1]
	return sum / time.Duration(len(measured)), float64((waves-2)*n*(input+output)) / span.Seconds()
}

// Every recorded case is in the table of rules, every case and every test that the
// page names exists, and each rule has one of them.
func TestTheDocumentsRulesAreHeldBySomething(t *testing.T) {
	cases := map[string]bool{}
	paths, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		number, _, _ := strings.Cut(filepath.Base(path), "_")
		cases[number] = false
	}
	for i, row := range documentTable(t, "### Scheduler rules") {
		if len(row) != 3 || row[1]+row[2] == "" {
			t.Errorf("row %d: found %q, expected a rule with cases or a test", i+1, row)
			continue
		}
		for _, number := range strings.Fields(row[1]) {
			if _, ok := cases[number]; !ok {
				t.Errorf("%s: there is no recorded case %s", row[0], number)
			}
			cases[number] = true
		}
	}
	for number, named := range cases {
		if !named {
			t.Errorf("recorded case %s is in no row", number)
		}
	}
}

func TestTheDocumentNamesTestsThatExist(t *testing.T) {
	known := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllSubmatch(text, -1) {
			known[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Benchmark)\\w+)`").FindAllStringSubmatch(document(t), -1)
	if len(named) < 20 {
		t.Errorf("the page names %d tests, expected 20 and more", len(named))
	}
	for _, name := range named {
		if !known[name[1]] {
			t.Errorf("the page names %s, which is no test", name[1])
		}
	}
}

func TestTheDocumentListsEveryQuirkOfTheGateway(t *testing.T) {
	var want [][]string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[spec.Quirks]()) {
		want = append(want, []string{"`" + field.Tag.Get("yaml") + "`"})
	}
	compareTable(t, "### Quirks", 1, want)
}

func documentConfig(t *testing.T, model, gpu string, tp int, utilization float64) Config {
	t.Helper()
	arm := spec.Engine{GPU: gpu, TensorParallelSize: tp, GPUMemoryUtilization: utilization, EnablePrefixCaching: true, EnableChunkedPrefill: true, AsyncScheduling: true}
	cfg, err := ConfigOf(arm, "Qwen/"+model, 8448)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// milliseconds writes three digits, and all of a whole number.
func milliseconds(d time.Duration) string {
	ms := d.Seconds() * 1e3
	if ms >= 100 {
		return fmt.Sprintf("%.0f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func decimal2(x float64) string { return fmt.Sprintf("%.2f", x) }

// thousands rounds to hundreds and separates them.
func thousands(x float64) string {
	n := int(x/100+0.5) * 100
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
