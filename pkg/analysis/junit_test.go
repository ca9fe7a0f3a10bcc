package analysis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// findings with every kind of outcome, and texts that formats have a use for.
func findings() []Finding {
	number := func(v float64) *float64 { return &v }
	return []Finding{
		{Arm: "s2-ungated", Metric: "burst/interactive/ttft/p50", Unit: "s", Old: number(.5), New: number(.51), Ratio: number(1.02), OK: true},
		{Arm: "s4 <&\">", Metric: "a,b:c", Unit: "s", Old: number(.5), New: number(1), Ratio: number(2)},
		{Arm: "s5", Metric: "m", Unit: "s", Skipped: true, Reason: "null in both: no valid trial"},
		{Arm: "s6", Reason: "100 % sure:\nthe arm is not in the baseline"},
	}
}

func TestFindingsAsJUnit(t *testing.T) {
	var out strings.Builder
	if err := WriteJUnit(&out, findings()); err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="2">
  <testsuite name="bg-analyze check" tests="4" failures="2" skipped="1">
    <testcase classname="s2-ungated" name="burst/interactive/ttft/p50">
      <system-out>baseline 500 ms, now 510 ms, ratio 1.020</system-out>
    </testcase>
    <testcase classname="s4 &lt;&amp;&#34;&gt;" name="a,b:c">
      <failure type="difference" message="baseline 500 ms, now 1000 ms, ratio 2.000"></failure>
    </testcase>
    <testcase classname="s5" name="m">
      <skipped message="baseline -, now -: null in both: no valid trial"></skipped>
    </testcase>
    <testcase classname="s6" name="arm">
      <failure type="difference" message="baseline -, now -: 100 % sure:&#xA;the arm is not in the baseline"></failure>
    </testcase>
  </testsuite>
</testsuites>
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFindingsAsAnnotations(t *testing.T) {
	var out strings.Builder
	if err := WriteAnnotations(&out, findings()); err != nil {
		t.Fatal(err)
	}
	want := `::error title=s4 <&"> a%2Cb%3Ac::baseline 500 ms, now 1000 ms, ratio 2.000
::error title=s6 arm::baseline -, now -: 100 %25 sure:%0Athe arm is not in the baseline
::notice title=bg-analyze check::1 of 3 comparisons hold, 1 skipped
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
