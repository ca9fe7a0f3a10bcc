package report

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		name string
		v    float64
		unit string
		want string
	}{
		{"seconds below one are milliseconds", 0.342, "s", "342 ms"},
		{"what rounds to 1000 ms is 1 s", 0.9996, "s", "1.00 s"},
		{"three significant digits", 12.2449, "s", "12.2 s"},
		{"rounding up a decade keeps three digits", 9.996, "s", "10.0 s"},
		{"below one millisecond two digits", 0.000213, "s", "0.21 ms"},
		{"whole numbers above a thousand keep their digits", 52141.3, "", "52141"},
		{"a ratio is in percent", 0.0022, "ratio", "0.22 %"},
		{"zero has no decimals", 0, "s", "0 ms"},
		{"the minus is a minus", -0.25, "s", "−250 ms"},
		{"another unit stands as it is", 7.5, "tokens", "7.50 tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.ReplaceAll(quantity(c.v, c.unit), "\u00a0", " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestChange(t *testing.T) {
	for _, c := range []struct {
		name  string
		ratio float64
		want  string
	}{
		{"published: 561 over 342", 561.0 / 342, "+64 %"},
		{"published: 341 over 561", 341.0 / 561, "−39 %"},
		{"published: 1798 over 1648", 1798.0 / 1648, "+9.1 %"},
		{"a factor from three", 3.94, "×3.94"},
		{"no change has no sign", 1.0001, "±0 %"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.ReplaceAll(change(c.ratio), "\u00a0", " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestClock(t *testing.T) {
	for seconds, want := range map[float64]string{
		4.2: "4.2s", 59.6: "1m", 90: "1m30s", 1800: "30m", 3600: "1h", 3725: "1h02m", 86400: "24h", 0: "0s", -30: "−30s",
	} {
		if got := clock(seconds); got != want {
			t.Errorf("clock(%v) is %q, want %q", seconds, got, want)
		}
	}
}

func TestAxisEndsOnAWholeStepAtOrAboveItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := math.Pow(10, rapid.Float64Range(-6, 9).Draw(t, "exponent"))
		end, step := axisEnd(want)
		steps := end / step
		if end < want*(1-1e-4) || end > 2.6*want || math.Abs(steps-math.Round(steps)) > 1e-3 || steps > 4.001 {
			t.Fatalf("axisEnd(%v) is %v in steps of %v", want, end, step)
		}
	})
}

func TestCountSeparatesThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 4050: "4050", 12345: "12\u202f345", 1944000: "1\u202f944\u202f000", -12345: "−12\u202f345"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) is %q, want %q", n, got, want)
		}
	}
}
