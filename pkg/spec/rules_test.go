package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProfileFaultsNameTheKeyAndWhatWasExpected(t *testing.T) {
	for name, test := range map[string]struct {
		set  []string
		want string
	}{
		"a mean above its maximum":          {[]string{"prompt.isl.mean=5000"}, "5000 is above max 512"},
		"a mean below its minimum":          {[]string{"prompt.osl.mean=2"}, "2 is below min 8"},
		"min above max":                     {[]string{"prompt.isl.min=600"}, "600 is above max 512"},
		"a length of no tokens":             {[]string{"prompt.isl.min=0"}, "found 0, expected 1 or more"},
		"a negative deviation":              {[]string{"prompt.isl.sd=-1"}, "found -1, expected 0 or more"},
		"an unknown distribution":           {[]string{"prompt.isl.type=log-normal"}, `found "log-normal", expected one of fixed, uniform, normal, lognormal`},
		"a fixed length that varies":        {[]string{"prompt.isl.type=fixed"}, "a fixed length does not vary"},
		"a fixed length of half a token":    {[]string{"prompt.isl={type: fixed, sd: 0, mean: 20.5}"}, "expected a whole number"},
		"a uniform length with a mean":      {[]string{"prompt.isl.type=uniform"}, "follows from min and max"},
		"a context below every request":     {[]string{"maxModelLen=200"}, "200 is below 287"},
		"system prompts without text":       {[]string{"prompt.systemPrompts.tokens=0"}, "found 0, expected 1 or more for 8 system prompts"},
		"text of no system prompts":         {[]string{"prompt.systemPrompts.count=0"}, "found 0, expected 1 or more of 256 tokens"},
		"an unknown arrival process":        {[]string{"interactive.arrival=poison"}, `found "poison", expected one of poisson, constant`},
		"no phases":                         {[]string{"interactive.phases=[]"}, "found none, expected one or more"},
		"a negative rate":                   {[]string{"interactive.phases.0.rate=-1"}, "found -1, expected 0 or more requests per second"},
		"fewer than no requests at once":    {[]string{"interactive.phases.0.atOnce=-1"}, "found -1, expected 0 or more requests"},
		"more requests than there are":      {[]string{"interactive.phases.burst.rate=1e300"}, "ci.yaml:10: interactive.phases: found 1.8e+301 requests in all, expected 5000000 at most (with --set interactive.phases.burst.rate=1e300)"},
		"a phase of an unknown class":       {[]string{"interactive.phases.0.class=batch"}, `found "batch", expected one of interactive, standard`},
		"a prompt of one class":             {[]string{"batch.prompt.isl.mean=5000"}, "5000 is above max 512"},
		"a system prompt of one class":      {[]string{"interactive.prompt.systemPrompts.tokens=0"}, "found 0, expected 1 or more for 8 system prompts"},
		"a context below one class":         {[]string{"interactive.prompt.isl={min: 2000, mean: 2000, max: 3000}"}, "2048 is below 2277"},
		"a phase of zero length":            {[]string{"interactive.phases.burst.duration=0s"}, "found 0s, expected more than 0"},
		"two phases of one name":            {[]string{"interactive.phases.1.name=burst"}, `"burst" is taken by an earlier one`},
		"a negative bound of the SLO":       {[]string{"slo.ttft=-1s"}, "slo.ttft=-1s: found -1s, expected 0 or more"},
		"zero cycles":                       {[]string{"interactive.cycles=0", "interactive.warmupCycles=0"}, "found 0, expected 1 or more"},
		"nothing but warm-up":               {[]string{"interactive.warmupCycles=3"}, "3 leaves none of 3 cycles to measure"},
		"more requests than a disk holds":   {[]string{"interactive.phases.0.rate=1e9"}, "expected 5000000 at most"},
		"a rate that is no number":          {[]string{"interactive.phases.0.rate=.nan"}, "found .nan, expected a number"},
		"a request timeout of nothing":      {[]string{"interactive.requestTimeout=0s"}, "found 0s, expected more than 0"},
		"two jobs whose files would be one": {[]string{"batch.jobs.B.name=a"}, `"a" is taken by an earlier one, "A"`},
		"a job name that leaves its folder": {[]string{"batch.jobs.A.name=../x"}, `found "../x", expected up to 63 letters`},
		"a job that fills the disk":         {[]string{"batch.jobs.A.requests=5000001"}, "found 5000001, expected 1 to 5000000"},
		"a window of nothing":               {[]string{"batch.jobs.A.window=0s"}, "found 0s, expected more than 0"},
		"a negative lead":                   {[]string{"batch.lead=-1s"}, "found -1s, expected 0 or more"},
		"a negative drain":                  {[]string{"drain.jobs=-1s"}, "found -1s, expected 0 or more"},
		"no model":                          {[]string{"model="}, "expected the name of a model"},
		"a name with a slash":               {[]string{"name=a/b"}, `found "a/b"`},
		"a number for a duration":           {[]string{"drain.jobs=5"}, `found "5", expected a duration such as 90s`},
		"text for a number":                 {[]string{"seed=soon"}, `found "soon", expected a whole number`},
		"a fraction for a whole number":     {[]string{"interactive.cycles=2.5"}, "found 2.5, expected a whole number"},
		"a list for a value":                {[]string{"model=[a]"}, "found a list, expected a single value"},
		"a value for a mapping":             {[]string{"prompt=short"}, `found "short", expected a mapping`},
		"nothing for a value":               {[]string{"seed=null"}, "found nothing, expected a whole number"},
		"a number too large":                {[]string{"seed=9223372036854775808"}, "expected a whole number"},
		"text for a truth value":            {[]string{"prompt.ignoreEOS=yep"}, `found "yep", expected true or false`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadProfile("ci", test.set)
			wantError(t, err, "profile ", test.want)
			// A fault of one key names its assignment, one of two keys the other's line.
			key, _, _ := strings.Cut(test.set[0], "=")
			if text := err.Error(); !strings.Contains(text, "--set "+key) && !strings.Contains(text, "profiles/ci.yaml:") {
				t.Errorf("error %q does not say where to look", text)
			}
		})
	}
}

func TestArmFaultsNameTheKeyAndWhatWasExpected(t *testing.T) {
	for name, test := range map[string]struct{ set, want string }{
		"an unknown dispatch":               {"dispatch=synch", `found "synch", expected one of none, backlog, sync, async`},
		"no number of workers":              {"gateway.numWorkers=0", "found 0, expected 1 or more where dispatch is sync"},
		"more an endpoint than in all":      {"gateway.concurrency.perEndpoint=300", "found 300, expected global 200 or less"},
		"no slot":                           {"gateway.concurrency.perEndpoint=0", "found 0, expected 1 or more"},
		"an AIMD floor above its ceiling":   {"gateway.concurrency.aimd={enabled: true, min: 101}", "found 101, expected perEndpoint 100 or less"},
		"a backoff factor of one":           {"gateway.concurrency.aimd={enabled: true, backoffFactor: 1}", "found 1, expected a number between 0 and 1"},
		"an AIMD that never recovers":       {"gateway.concurrency.aimd={enabled: true, additiveIncrease: 0}", "found 0, expected 1 or more"},
		"a longest backoff below the first": {"gateway.maxBackoff=500ms", "found 500ms, expected initialBackoff 1s or more"},
		"negative retries":                  {"gateway.maxRetries=-1", "found -1, expected 0 or more"},
		"a backlog that sends nothing":      {"backlog={concurrency: 0}", ""},
		"an unknown router":                 {"router.kind=random", `found "random", expected one of round-robin, epp`},
		"an unknown GPU":                    {"engine.gpu=H10", `found "H10", expected one of A100-80, H100, H200`},
		"no replicas":                       {"engine.replicas=0", "found 0, expected 1 or more"},
		"three GPUs for a replica":          {"engine.tensorParallelSize=3", "found 3, expected 1, 2, 4 or 8"},
		"no GPU for a replica":              {"engine.tensorParallelSize=0", "found 0, expected 1, 2, 4 or 8"},
		"a token budget below the batch":    {"engine.maxNumBatchedTokens=512", "found 512, expected maxNumSeqs 1024 or more"},
		"more memory than there is":         {"engine.gpuMemoryUtilization=1.1", "found 1.1, expected a share above 0 and up to 1"},
		"an unknown policy":                 {"engine.schedulingPolicy=lifo", `found "lifo", expected one of fcfs, priority`},
		"an empty block":                    {"engine.blockSize=0", "found 0, expected 1 or more tokens"},
		"a negative path":                   {"pathLatency=-1ms", "found -1ms, expected 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadArm("s2-ungated", []string{test.set})
			if test.want == "" { // the arm has no backlog, so its backlog does not matter
				if err != nil {
					t.Fatal(err)
				}
				_, err = LoadArm("s1-no-gateway", []string{test.set})
				test.want = "found 0, expected 1 or more"
			}
			wantError(t, err, "arm s", test.want)
		})
	}
}

func TestRouterFaultsNameTheKeyAndWhatWasExpected(t *testing.T) {
	const h, s = "h3-holdback-evict", "s3-admission-aimd"
	for name, test := range map[string]struct{ arm, set, want string }{
		"an unknown detector":                  {h, "router.detector=kv", `found "kv", expected one of requests, tokens, hybrid, utilization`},
		"no room for any request":              {h, "router.maxConcurrency=0", "found 0, expected 1 or more"},
		"no room for any token":                {h, "router.maxTokenConcurrency=0", "found 0, expected 1 or more"},
		"a KV share above all":                 {h, "router.kvCacheUtilThreshold=1.2", "found 1.2, expected a share above 0 and up to 1"},
		"a negative lag":                       {h, "router.dispatchLag=-1ms", "found -1ms, expected 0 or more"},
		"an objective twice":                   {h, "router.objectives.1.name=realtime", `"realtime" stands there twice`},
		"interactive requests of no objective": {h, "router.interactiveObjective=chat", `found "chat", which is none of the objectives`},
		"standard requests of no objective":    {h, "router.standardObjective=chat", `found "chat", which is none of the objectives`},
		"a backlog of no objective":            {h, "backlog.objective=bulk", `found "bulk", which is none of router.objectives`},
		"a processor of no objective":          {s, "gateway.inferenceObjective=bulk", `found "bulk", which is none of router.objectives`},
		"a band without an objective":          {h, "router.bands=[{priority: -2, maxRequests: 0, fairness: global-strict, ordering: fcfs}]", "no objective has priority -2"},
		"an unknown order":                     {h, "router.bands=[{priority: 0, maxRequests: 0, fairness: global-strict, ordering: lifo}]", `found "lifo", expected one of fcfs, edf, slo-deadline`},
		"a reserve of everything":              {h, "router.holdback={minCeiling: 0.9, maxCeiling: 0.8}", "0.9 is not below maxCeiling 0.8"},
		"an unknown domain":                    {h, "router.holdback.domain=log", `found "log", expected one of rank, value`},
		"bands without flow control":           {s, "router.bands=[{priority: 100, maxRequests: 0, fairness: round-robin, ordering: fcfs}]", "found 1, expected none without flowControl"},
		"holdback without flow control":        {s, "router.holdback.minCeiling=0.5", "found 0.5, expected 1 without flowControl"},
		"eviction without flow control":        {s, "router.eviction=true", "found true, expected false without flowControl"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadArm(test.arm, []string{test.set})
			wantError(t, err, "arm "+test.arm, test.want)
		})
	}
}

func TestExperimentFaultsNameTheKeyAndWhatWasExpected(t *testing.T) {
	for name, test := range map[string]struct {
		set  []string
		want []string
	}{
		"no arms":                        {[]string{"arms=[]"}, []string{"experiment batch-gateway-ci: --set arms=[]: found none"}},
		"an arm that is not there":       {[]string{"arms=[s0-interactive]"}, []string{`arm "s0-interactive" is not in the catalogue`}},
		"an arm twice":                   {[]string{"arms=[s0-interactive-only, s0-interactive-only]"}, []string{"is taken by an earlier one"}},
		"a baseline that is not there":   {[]string{"baseline=s0"}, []string{`found "s0", expected one of the arms s0-interactive-only, s1-no-gateway`}},
		"an unknown target":              {[]string{"target=cloud"}, []string{`found "cloud", expected one of model, local, kube`}},
		"no trials":                      {[]string{"trials=0"}, []string{"found 0, expected 1 to 1000"}},
		"a chain of one arm":             {[]string{"chains=[{name: x, arms: [s2-ungated]}]"}, []string{"chains.0.arms", "found 1, expected two or more arms"}},
		"a chain that stands still":      {[]string{"chains=[{name: x, arms: [s2-ungated, s2-ungated]}]"}, []string{`found "s2-ungated" once more`}},
		"a chain without a name":         {[]string{"chains=[{arms: [s1-no-gateway, s2-ungated]}]"}, []string{"chains.0.name"}},
		"no margin":                      {[]string{"margin=0"}, []string{"found 0, expected a share above 0"}},
		"an unknown profile":             {[]string{"profile=cj"}, []string{`profile "cj" is not in the catalogue`}},
		"a fault in the profile":         {[]string{"profile.seed=x"}, []string{"--set profile.seed=x", `found "x"`}},
		"a rule of the profile":          {[]string{"profile.prompt.isl.mean=5000"}, []string{"profile ci: --set profile.prompt.isl.mean=5000: 5000 is above max 512"}},
		"a rule of an arm":               {[]string{"arms.s2-ungated.engine.gpu=T4"}, []string{"arm s2-ungated: --set arms.s2-ungated.engine.gpu=T4", `found "T4"`}},
		"an arm that has no such place":  {[]string{"arms.9.dispatch=none"}, []string{`found list index "9", expected 0 to 6 or one of s0-interactive-only`}},
		"an override of an unknown key":  {[]string{"armSet={engine.maxNumSeq: 3}"}, []string{"engine.maxNumSeq: unknown key"}},
		"an override that is none":       {[]string{"profileSet=[seed]"}, []string{"found no =, expected key=value"}},
		"an override list of mappings":   {[]string{"profileSet=[{a: 1}]"}, []string{"found a mapping, expected key=value"}},
		"an override of the wrong form":  {[]string{"armSet=x"}, []string{`found "x", expected a list of key=value or a mapping`}},
		"a budget the profile overfills": {[]string{"arms.0.engine={enableChunkedPrefill: false, maxNumBatchedTokens: 1024}"}, []string{"1024 is below the profile's maxModelLen 2048"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadExperiment("batch-gateway-ci", test.set)
			wantError(t, err, test.want...)
		})
	}
}

// write puts files into a folder of their own and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFilesAreReadStrictly(t *testing.T) {
	for name, test := range map[string]struct {
		files      map[string]string
		want, hint string
	}{
		"an unknown key": {
			map[string]string{"x.yaml": "extends: ci\nprompt:\n  isl:\n    meen: 3\n"},
			"x.yaml:4: prompt.isl.meen: unknown key", "did you mean prompt.isl.mean?",
		},
		"a key in the wrong place": {
			map[string]string{"x.yaml": "extends: ci\nisl: {mean: 3}\n"},
			"x.yaml:2: isl: unknown key", "did you mean prompt.isl?",
		},
		"a key that is like no other": {
			map[string]string{"x.yaml": "extends: ci\ncolour: red\n"},
			"x.yaml:2: colour: unknown key", "expected one of name, description, seed",
		},
		"a rule that does not hold": {
			map[string]string{"x.yaml": "extends: ci\n\nprompt:\n  isl:\n    mean: 5000\n"},
			"profile ", "raise prompt.isl.max or lower the mean",
		},
		"a key twice": {
			map[string]string{"x.yaml": "extends: ci\nseed: 1\nseed: 2\n"}, `x.yaml:3: `, "",
		},
		"text that is no YAML": {
			map[string]string{"x.yaml": "extends: [ci\n"}, "x.yaml:1: ", "",
		},
		"two documents": {
			map[string]string{"x.yaml": "extends: ci\n---\nseed: 2\n"}, "x.yaml:3: found a second YAML document", "",
		},
		"an empty file": {
			map[string]string{"x.yaml": "# nothing\n"}, "x.yaml:1: found no YAML", "",
		},
		"a list": {
			map[string]string{"x.yaml": "- ci\n"}, "x.yaml:1: found a list, expected a mapping", "",
		},
		"an alias": {
			map[string]string{"x.yaml": "extends: ci\nseed: &s 1\nmaxModelLen: *s\n"}, "x.yaml:2: found YAML's anchor", "",
		},
		"a parent that is not there": {
			map[string]string{"x.yaml": "name: x\nextends: cj\n"}, `x.yaml:2: extends: profile "cj" is not in the catalogue`, "did you mean ci?",
		},
		"a parent file that is not there": {
			map[string]string{"x.yaml": "extends: y.yaml\n"}, "y.yaml: no such file or directory", "",
		},
		"a parent that is a list": {
			map[string]string{"x.yaml": "extends: [ci]\n"}, "x.yaml:1: extends: found a list", "",
		},
		"a file that extends itself": {
			map[string]string{"x.yaml": "extends: x.yaml\n"}, "x.yaml extends itself", "",
		},
		"files that extend each other": {
			map[string]string{"x.yaml": "extends: y.yaml\n", "y.yaml": "extends: x.yaml\n"}, "x.yaml extends itself: ", "",
		},
		"a deep nest": {
			map[string]string{"x.yaml": "model: " + strings.Repeat("[", 100) + strings.Repeat("]", 100)}, "levels of nesting", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, test.files)
			_, err := LoadProfile(filepath.Join(dir, "x.yaml"), nil)
			wantError(t, err, test.want)
			var hinted HintedError
			switch errors.As(err, &hinted) {
			case false:
				if test.hint != "" {
					t.Errorf("found no hint, want %q", test.hint)
				}
			default:
				if test.hint == "" || !strings.Contains(hinted.Hint(), test.hint) {
					t.Errorf("found hint %q, want %q", hinted.Hint(), test.hint)
				}
			}
		})
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	dir := write(t, map[string]string{"x.yaml": "extends: ci\nseed: x\nmodle: y\n"})
	_, err := LoadProfile(filepath.Join(dir, "x.yaml"), nil)
	wantError(t, err, "x.yaml:2: seed: ", "x.yaml:3: modle: ")
}
