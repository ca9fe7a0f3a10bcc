package schedule

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/spec"
)

const (
	azureCSV = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,374,44\n2023-11-16 18:17:04.0319600,396,109\n2023-11-16 18:17:05.9799600,879,55\n"
	// Of 2024, with a zone.
	azure2024 = "\ufeffTIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:01.009930+00:00,2399,6\n"
	mooncake  = `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
{"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": [46]}
`
)

// replayed draws a phase of 2 s a cycle from a trace and prints what is due.
func replayed(t *testing.T, text string, trace spec.Trace, rate float64, cycles int) (string, error) {
	t.Helper()
	trace.File = filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(trace.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Draw(spec.Interactive{Arrival: spec.Poisson, Cycles: cycles, Phases: []spec.Phase{{
		Name: "p", Duration: spec.Duration(2 * time.Second), Arrival: spec.Replayed, Trace: &trace, Rate: rate,
	}}}, 1)
	var due []string
	for _, a := range all {
		due = append(due, fmt.Sprintf("%s %d+%d", a.Due.Round(time.Microsecond), a.InputTokens, a.OutputTokens))
	}
	if err != nil {
		return "", fmt.Errorf("%s", strings.ReplaceAll(err.Error(), trace.File, "FILE"))
	}
	return strings.Join(due, ", "), nil
}

func TestATraceIsReplayed(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		trace  spec.Trace
		rate   float64
		cycles int
		want   string
	}{
		"timestamps, the first of which is 0": {"10\n10.5\n\n12.5\n", spec.Trace{Format: spec.TraceTimestamps}, 0, 1, "0s 0+0, 500ms 0+0"},
		"the next cycle goes on":              {"10\n10.5\n12.5\n", spec.Trace{Format: spec.TraceTimestamps}, 0, 2, "0s 0+0, 500ms 0+0, 2.5s 0+0"},
		"out of order":                        {"3\n1\n2\n", spec.Trace{Format: spec.TraceTimestamps}, 0, 1, "0s 0+0, 1s 0+0"},
		"stretched to a rate":                 {"1\n2\n3\n5\n", spec.Trace{Format: spec.TraceTimestamps}, 1.5, 1, "0s 0+0, 500ms 0+0, 1s 0+0"},
		"objects with lengths":                {`{"timestamp":1.5,"input_length":7,"output_length":3}` + "\n", spec.Trace{Format: spec.TraceJSONL, Lengths: true}, 0, 1, "0s 7+3"},
		"objects without lengths":             {`{"timestamp":1.5}` + "\n" + `{"timestamp":1.75}`, spec.Trace{Format: spec.TraceJSONL}, 0, 1, "0s 0+0, 250ms 0+0"},
		"azure":                               {azureCSV, spec.Trace{Format: spec.TraceAzure, Lengths: true}, 0, 1, "0s 374+44, 52ms 396+109"},
		"azure of 2024":                       {azure2024, spec.Trace{Format: spec.TraceAzure, Lengths: true}, 0, 1, "0s 2162+5, 1s 2399+6"},
		"azure without its lengths":           {azureCSV, spec.Trace{Format: spec.TraceAzure}, 0, 1, "0s 0+0, 52ms 0+0"},
		"mooncake":                            {mooncake, spec.Trace{Format: spec.TraceMooncake, Lengths: true}, 0, 2, "0s 6955+52, 3.053s 6472+26"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := replayed(t, c.text, c.trace, c.rate, c.cycles); err != nil || got != c.want {
				t.Errorf("found %s (%v), expected %s", got, err, c.want)
			}
		})
	}
}

func TestWhatIsWrongWithATraceIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		trace  spec.Trace
		rate   float64
		cycles int
		want   string
	}{
		"empty":                     {"\n", spec.Trace{Format: spec.TraceTimestamps}, 0, 1, "phase p: trace FILE: found no request"},
		"no number":                 {"1\ntwo\n", spec.Trace{Format: spec.TraceTimestamps}, 0, 1, `phase p: trace FILE:2: found "two", expected a number of seconds`},
		"no JSON":                   {"{}\n", spec.Trace{Format: spec.TraceMooncake}, 0, 1, "phase p: trace FILE:1: timestamp: found none, expected a number"},
		"an object cut":             {`{"timestamp":`, spec.Trace{Format: spec.TraceJSONL}, 0, 1, "phase p: trace FILE:1: not JSON at byte 13: unexpected end of JSON input"},
		"lengths that are missing":  {`{"timestamp":1,"input_length":5}`, spec.Trace{Format: spec.TraceJSONL, Lengths: true}, 0, 1, "phase p: trace FILE: found a request of 5 and 0 tokens, expected 1 or more of each (lengths)"},
		"a CSV of something else":   {"a,b\n1,2\n", spec.Trace{Format: spec.TraceAzure}, 0, 1, "phase p: trace FILE:1: found a,b, expected TIMESTAMP,ContextTokens,GeneratedTokens"},
		"a CSV without a head":      {"", spec.Trace{Format: spec.TraceAzure}, 0, 1, "phase p: trace FILE:1: found no head (EOF), expected TIMESTAMP,ContextTokens,GeneratedTokens"},
		"an instant that is none":   {"TIMESTAMP,ContextTokens,GeneratedTokens\nnoon,1,2\n", spec.Trace{Format: spec.TraceAzure}, 0, 1, `phase p: trace FILE:2: TIMESTAMP: found "noon", expected an instant such as 2023-11-16 18:17:03.9799600`},
		"a row that is too short":   {"TIMESTAMP,ContextTokens,GeneratedTokens\nnoon\n", spec.Trace{Format: spec.TraceAzure}, 0, 1, "phase p: trace FILE: record on line 2: wrong number of fields"},
		"one instant and a rate":    {"1\n1\n", spec.Trace{Format: spec.TraceTimestamps}, 5, 1, "phase p: trace FILE: all requests are at one instant, expected a span that can be stretched to a rate"},
		"a trace that is too short": {"1\n2\n", spec.Trace{Format: spec.TraceTimestamps}, 0, 2, "phase p: trace FILE ends after 1s, before cycle 1 begins at 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := replayed(t, c.text, c.trace, c.rate, c.cycles); err == nil || err.Error() != c.want {
				t.Errorf("found %v, expected %s", err, c.want)
			}
		})
	}
	_, err := Draw(spec.Interactive{Cycles: 1, Phases: []spec.Phase{{Name: "p", Duration: 1, Trace: &spec.Trace{File: "/nowhere", Format: spec.TraceAzure}}}}, 1)
	if err == nil || err.Error() != "phase p: trace: open /nowhere: no such file or directory" {
		t.Errorf("found %v", err)
	}
}

// Whatever is in a trace, it is read or refused.
func FuzzTrace(f *testing.F) {
	for _, seed := range []struct{ format, text string }{
		{spec.TraceTimestamps, "1\n2.5\n"}, {spec.TraceJSONL, `{"timestamp":1}`}, {spec.TraceAzure, azureCSV}, {spec.TraceMooncake, mooncake},
	} {
		f.Add(seed.format, seed.text)
	}
	f.Fuzz(func(t *testing.T, format, text string) {
		all, err := parseTrace(strings.NewReader(text), format)
		if err == nil && len(all) > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
			t.Errorf("found %d requests in %d lines", len(all), strings.Count(text, "\n")+1)
		}
	})
}
