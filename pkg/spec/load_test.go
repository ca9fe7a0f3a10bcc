package spec

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestExtendsLaysAFileOverItsParent(t *testing.T) {
	dir := write(t, map[string]string{
		"parent.yaml": "extends: s2-ungated\ndescription: the parent\ngateway: {numWorkers: 1}\n",
		"child.yaml":  "extends: parent.yaml\ngateway: {concurrency: {global: 150}}\n",
	})
	got, err := LoadArm(filepath.Join(dir, "child.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := LoadArm("s2-ungated", nil)
	if err != nil {
		t.Fatal(err)
	}
	// The name comes from the file; the description of the parent is not inherited.
	want.Name, want.Description = "child", ""
	want.Gateway.NumWorkers = 1
	want.Gateway.Concurrency.Global = 150
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, want %+v", got, want)
	}
}

func TestSetChangesAnyKey(t *testing.T) {
	got, err := LoadProfile("ci", []string{
		"interactive.phases.0.rate=20",
		"interactive.phases.idle.duration=1m30s",
		"prompt.isl={mean: 99, sd: 1.5e1}",
		"batch.jobs=[{name: Z, requests: 3, window: 1h}]",
		"model=org/model: the \"best\" # yet",
		"description=12",
		"seed=-7",
		"seed=8",
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := LoadProfile("ci", nil)
	if err != nil {
		t.Fatal(err)
	}
	want.Interactive.Phases[0].Rate = 20
	want.Interactive.Phases[1].Duration = 90e9
	want.Prompt.ISL.Mean, want.Prompt.ISL.SD = 99, 15
	want.Batch.Jobs = []Job{{Name: "Z", Requests: 3, Window: 3600e9}}
	want.Model = `org/model: the "best" # yet`
	want.Description = "12"
	want.Seed = 8
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v,\nwant  %+v", got, want)
	}
}

func TestExperimentTakesItsPartsFromNamesFilesAndMappings(t *testing.T) {
	dir := write(t, map[string]string{
		"mine.yaml": `
question: does it?
profile: small.yaml
profileSet: [batch.lead=3s, interactive.phases.idle.rate=2]
arms:
  - s0-interactive-only
  - arm.yaml
  - {extends: s2-ungated, name: inline, gateway: {numWorkers: 2}}
armSet:
  engine.maxNumSeqs: 16
  engine: {replicas: 2}
`,
		"small.yaml": "extends: ci\nseed: 5\n",
		"arm.yaml":   "extends: s6-low-concurrency\n",
	})
	e, err := LoadExperiment(filepath.Join(dir, "mine.yaml"), []string{"trials=1", "arms.inline.engine.replicas=3"})
	if err != nil {
		t.Fatal(err)
	}
	if e.Name != "mine" || e.Trials != 1 || e.Target != TargetLocal || e.Margin != 0.1 {
		t.Errorf("found %s, %d trials on %s within %g", e.Name, e.Trials, e.Target, e.Margin)
	}
	if p := e.Profile; p.Name != "small" || p.Seed != 5 || p.Batch.Lead != 3e9 || p.Interactive.Phases[1].Rate != 2 {
		t.Errorf("found the profile %+v", p)
	}
	var names []string
	for i, a := range e.Arms {
		names = append(names, a.Name)
		if a.Engine.MaxNumSeqs != 16 {
			t.Errorf("arm %s: maxNumSeqs is %d, armSet says 16", a.Name, a.Engine.MaxNumSeqs)
		}
		if want := []int{2, 2, 3}[i]; a.Engine.Replicas != want {
			t.Errorf("arm %s: found %d replicas, want %d", a.Name, a.Engine.Replicas, want)
		}
	}
	if want := []string{"s0-interactive-only", "arm", "inline"}; !reflect.DeepEqual(names, want) {
		t.Errorf("found the arms %q, want %q", names, want)
	}
	if inline, _ := e.Arm("inline"); inline.Gateway.NumWorkers != 2 || inline.Gateway.Concurrency.PerEndpoint != 100 {
		t.Errorf("found the arm %+v", inline)
	}
}

func TestSetOfAnExperimentChoosesOtherParts(t *testing.T) {
	e, err := LoadExperiment("batch-gateway-ci", []string{"profile=default", "arms=[s0-interactive-only, s2-ungated]", "profile.seed=7"})
	if err != nil {
		t.Fatal(err)
	}
	if e.Profile.Name != "default" || e.Profile.Seed != 7 || len(e.Arms) != 2 {
		t.Errorf("found profile %s with seed %d and %d arms", e.Profile.Name, e.Profile.Seed, len(e.Arms))
	}
}

func TestAClassTakesTheRestOfAPartOfItsPromptFromTheProfile(t *testing.T) {
	p, err := LoadProfile("ci", []string{"interactive.prompt.osl={type: fixed, mean: 9, sd: 0}", "prompt.osl.max=300", "prompt.isl.mean=99"})
	if err != nil {
		t.Fatal(err)
	}
	want := p.Prompt
	want.OSL = Distribution{Type: Fixed, Mean: 9, Min: 8, Max: 300}
	if got := p.InteractivePrompt(); got != want {
		t.Errorf("found %+v, want %+v", got, want)
	}
	if got := p.BatchPrompt(); got != p.Prompt || got.ISL.Mean != 99 {
		t.Errorf("found %+v, want %+v", got, p.Prompt)
	}
	if p.Interactive.Phases[0].Class != ClassInteractive {
		t.Errorf("found the class %q of a phase that says none", p.Interactive.Phases[0].Class)
	}
	roundTrip(t, p)
}

func TestDurationsDropZeroUnits(t *testing.T) {
	for text, want := range map[string]string{
		"90s": "1m30s", "30m": "30m", "24h": "24h", "1h30m": "1h30m", "0s": "0s", "1h0m5s": "1h0m5s", "10m0s": "10m", "1.5s": "1.5s", "20s": "20s",
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if d.String() != want {
			t.Errorf("%s is written %s, want %s", text, d, want)
		}
	}
}

func FuzzAssignment(f *testing.F) {
	for _, seed := range []string{
		"seed=1", "interactive.phases.0.rate=20", "interactive.phases.idle.name=x", "prompt={isl: {mean: 3}}",
		"a.b=[1, {c: d}]", "=", ".=1", "seed==", "batch.jobs.-1.name=x", "model=\"a", "model={", "model=\x80", "model=\x1b", "drain.jobs=1h", "prompt.isl.sd=1e400",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, set string) {
		p, err := LoadProfile("ci", []string{set})
		if err != nil {
			return
		}
		// What was accepted is valid and survives being written and read.
		if err := p.Validate(); err != nil {
			t.Errorf("--set %q was accepted: %v", set, err)
		}
		roundTrip(t, p)
	})
}

func FuzzProfileFile(f *testing.F) {
	for _, seed := range []string{
		"extends: ci\nseed: 3\n", "name: x\n", "- a\n", "a: &a [*a]\n", "extends: [\n", "? a\n: b\n", "a: |\n  x\n", "\"\\u0000\": 1\n", "!!str a: b\n", "<<: {a: b}\n", "%YAML 1.2\n---\na: b\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := parseMapping([]byte(text), "x.yaml")
		if err != nil {
			return
		}
		if tree, err = profileKind.extend(tree, []string{"x.yaml"}); err != nil {
			return
		}
		if p, err := decodeProfile(tree, false); err == nil {
			roundTrip(t, p)
		}
	})
}

func roundTrip(t *testing.T, p Profile) {
	t.Helper()
	data, err := Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parseTree(data, origin{file: "written.yaml"})
	if err != nil {
		t.Fatalf("what was written is no YAML: %v\n%s", err, data)
	}
	again, err := decodeProfile(tree, true)
	if err != nil {
		t.Fatalf("what was written is refused: %v\n%s", err, data)
	}
	if !reflect.DeepEqual(p, again) {
		t.Errorf("wrote %+v, read %+v\n%s", p, again, data)
	}
}

func TestAJobThatIsTooLargeForAFileIsSplit(t *testing.T) {
	for name, c := range map[string]struct {
		sets []string
		want []Job
	}{
		"into as few equal parts as lines allow": {
			[]string{"batch.jobs=[{name: A, requests: 100001, window: 1h}, {name: B, requests: 50000, window: 2h}]",
				"prompt.isl={type: fixed, mean: 5, sd: 0, min: 1}", "prompt.systemPrompts={count: 0, tokens: 0}"},
			[]Job{{"A-1", 33333, 3600e9, "A"}, {"A-2", 33334, 3600e9, "A"}, {"A-3", 33334, 3600e9, "A"}, {"B", 50000, 7200e9, ""}},
		},
		"where the longest prompts would not fit": {
			[]string{"batch.jobs=[{name: A, requests: 5000, window: 1h}]", "prompt.isl={type: uniform, min: 1, max: 8000, mean: 0, sd: 0}", "maxModelLen=32768"},
			[]Job{{"A-1", 2500, 3600e9, "A"}, {"A-2", 2500, 3600e9, "A"}},
		},
	} {
		p, err := LoadProfile("ci", c.sets)
		if err != nil || !reflect.DeepEqual(p.Batch.Jobs, c.want) {
			t.Errorf("%s: found %+v, %v, want %+v", name, p.Batch.Jobs, err, c.want)
		}
		again := p
		again.splitJobs()
		if !reflect.DeepEqual(again, p) {
			t.Errorf("%s: parts were split once more: %+v", name, again.Batch.Jobs)
		}
	}
	_, err := LoadProfile("ci", []string{"batch.jobs=[{name: A, requests: 60000, window: 1h}, {name: A-1, requests: 1, window: 1h}]"})
	if err == nil || !strings.Contains(err.Error(), `"A-1" is taken by an earlier one`) {
		t.Errorf("a job that is called as a part of another: found %v", err)
	}
}
