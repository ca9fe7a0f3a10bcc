package spec

import (
	"reflect"
	"testing"
)

func TestRestartFaultsNameTheKeyAndWhatWasExpected(t *testing.T) {
	for name, test := range map[string]struct{ arm, set, want string }{
		"before the start":     {"s2-ungated", "gateway.restarts=[{at: 0s, signal: SIGTERM, downFor: 1s, workDirLost: false}]", "gateway.restarts.0.at: found 0s, expected more than 0"},
		"an unknown signal":    {"s2-ungated", "gateway.restarts=[{at: 1s, signal: SIGHUP, downFor: 1s}]", `gateway.restarts.0.signal: found "SIGHUP", expected one of SIGTERM, SIGKILL`},
		"no time to be down":   {"s2-ungated", "gateway.restarts=[{at: 1s, signal: SIGKILL}]", "gateway.restarts.0.downFor: found 0s, expected more than 0"},
		"while it is down":     {"s2-ungated", "gateway.restarts=[{at: 1s, signal: SIGKILL, downFor: 5s}, {at: 6s, signal: SIGKILL, downFor: 5s}]", "gateway.restarts.1.at: 6s is not after the restart before, which may take until 6s"},
		"while it is ending":   {"s2-ungated", "gateway.restarts=[{at: 1s, signal: SIGTERM, downFor: 5s}, {at: 26s, signal: SIGKILL, downFor: 5s}]", "26s is not after the restart before, which may take until 26s"},
		"of no gateway":        {"s0-interactive-only", "gateway.restarts=[{at: 1s, signal: SIGKILL, downFor: 5s}]", "gateway.restarts=[{at: 1s, signal: SIGKILL, downFor: 5s}]: found 1, expected none where dispatch is none"},
		"of a backlog":         {"s1-no-gateway", "gateway.restarts=[{at: 1s, signal: SIGKILL, downFor: 5s}]", "found 1, expected none where dispatch is backlog"},
		"an unknown key of it": {"s2-ungated", "gateway.restarts=[{at: 1s, signl: SIGKILL, downFor: 5s}]", "gateway.restarts.0.signl: unknown key"},
		"an unknown quirk":     {"s2-ungated", "gateway.quirks.workerHeldAfterJobs=false", "--set gateway.quirks.workerHeldAfterJobs=false: unknown key"},
		"a quirk of a number":  {"s2-ungated", "gateway.quirks.globalPerJob=1", "found 1, expected true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadArm(test.arm, []string{test.set})
			wantError(t, err, "arm "+test.arm, test.want)
		})
	}
}

func TestEveryQuirkIsAsObservedUnlessAnArmSaysOtherwise(t *testing.T) {
	arm, err := LoadArm("base", nil)
	if err != nil {
		t.Fatal(err)
	}
	if arm.Gateway.Quirks != ObservedQuirks() {
		t.Errorf("found %+v, expected all of them on", arm.Gateway.Quirks)
	}
	observed := reflect.ValueOf(ObservedQuirks())
	for i := range observed.NumField() {
		if !observed.Field(i).Bool() {
			t.Errorf("%s is off among the observed quirks", observed.Type().Field(i).Name)
		}
	}
}
