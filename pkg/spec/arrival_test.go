package spec

import (
	"testing"

	"github.com/goccy/go-yaml"
)

func TestArrivalFaultsNameTheKeyAndWhatWasExpected(t *testing.T) {
	const first = "interactive.phases.0."
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"an unknown process":            {[]string{first + "arrival=gama"}, `found "gama", expected one of poisson, constant, uniform, poisson-fixed-n, gamma, ramp, bursts, trace, closed`},
		"gamma without its shape":       {[]string{first + "arrival=gamma"}, "interactive.phases.0.burstiness: found 0, expected more than 0 for arrival gamma"},
		"a shape of another process":    {[]string{first + "burstiness=0.5"}, "found 0.5, expected none: only arrival gamma has it"},
		"a ramp to nowhere":             {[]string{first + "arrival=ramp"}, "interactive.phases.0.rampTo: found none, expected 0 or more requests per second for arrival ramp"},
		"a ramp below nothing":          {[]string{first + "arrival=ramp", first + "rampTo=-1"}, "found -1, expected 0 or more"},
		"bursts without a rhythm":       {[]string{first + "arrival=bursts", first + "rate=0", first + "size=3"}, "interactive.phases.0.every: found 0s, expected more than 0 for arrival bursts"},
		"bursts with a rate":            {[]string{first + "arrival=bursts", first + "every=1s", first + "size=3"}, "interactive.phases.0.rate: found 12, expected none: that of arrival bursts follows from the rest"},
		"a closed loop without a limit": {[]string{first + "arrival=closed", first + "rate=0", first + "inFlight=3"}, "interactive.phases.0.requests: found 0, expected as many as are in flight, or more for arrival closed"},
		"a closed loop without clients": {[]string{first + "arrival=closed", first + "rate=0", first + "requests=3"}, "interactive.phases.0.inFlight: found 0, expected 1 or more requests for arrival closed"},
		"a trace without a file":        {[]string{first + "arrival=trace"}, "interactive.phases.0.trace: found none, expected a file and its format for arrival trace"},
		"a trace of unknown format":     {[]string{first + "arrival=trace", first + "trace={file: x, format: csv}"}, `found "csv", expected one of timestamps, jsonl, azure, mooncake`},
		"lengths of bare timestamps":    {[]string{first + "arrival=trace", first + "trace={file: x, format: timestamps, lengths: true}"}, "found true, expected false: timestamps have no lengths"},
		"a process of phases alone":     {[]string{"interactive.arrival=gamma"}, `found "gamma", expected one of poisson, constant, uniform, poisson-fixed-n`},
		"a loop that fills the disk":    {[]string{first + "arrival=closed", first + "rate=0", first + "inFlight=3", first + "requests=4000000"}, "expected 5000000 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadProfile("ci", c.set)
			wantError(t, err, "profile ", c.want)
		})
	}
}

func TestOfferedRateFollowsTheProcess(t *testing.T) {
	const first = "interactive.phases.0."
	for name, c := range map[string]struct {
		set  []string
		want float64
	}{
		"a rate":            {nil, 12},
		"a gamma rate":      {[]string{first + "arrival=gamma", first + "burstiness=0.5"}, 12},
		"the mean of ramps": {[]string{first + "arrival=ramp", first + "rampTo=0"}, 6},
		"bursts":            {[]string{first + "arrival=bursts", first + "rate=0", first + "every=2s", first + "size=3"}, 1.5},
		"a closed loop":     {[]string{first + "arrival=closed", first + "rate=0", first + "inFlight=3", first + "requests=60"}, 10},
	} {
		p, err := LoadProfile("ci", c.set)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Interactive.Phases[0].Offered(); got != c.want {
			t.Errorf("%s: found %g requests per second, expected %g", name, got, c.want)
		}
	}
}

func TestTheKeysOfAnArrivalSurviveTheFile(t *testing.T) {
	const first = "interactive.phases.0."
	for _, set := range [][]string{
		{first + "arrival=ramp", first + "rampTo=0"},
		{first + "arrival=bursts", first + "rate=0", first + "every=2s", first + "size=3"},
		{first + "arrival=trace", first + "trace={file: x.csv, format: azure, lengths: true}"},
	} {
		p, err := LoadProfile("ci", set)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again Profile
		if err := yaml.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		text2, err := Marshal(again)
		if err != nil || string(text2) != string(text) {
			t.Errorf("found\n%s, expected\n%s", text2, text)
		}
	}
}
