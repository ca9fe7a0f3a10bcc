package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bgbench/pkg/analysis"
)

// dash stands for a value that does not exist; its reason goes with it.
const dash = "—"

// quantity writes v, which is in unit, for reading: three significant digits,
// seconds below one second in milliseconds, ratios in percent.
func quantity(v float64, unit string) string {
	if unit == analysis.UnitCount && v == math.Trunc(v) {
		return count(int64(v))
	}
	shown, name := scale(v, unit)
	return join(shown, name)
}

// span writes lo–hi with one unit, the one that suits hi.
func span(lo, hi float64, unit string) string {
	name, factor := scaleOf(hi, unit)
	low, high := significant(lo*factor), significant(hi*factor)
	if low == high {
		return join(high, name)
	}
	return low + "–" + join(high, name)
}

func join(number, unit string) string {
	if unit == "" {
		return number
	}
	return number + "\u00a0" + unit
}

func scale(v float64, unit string) (number, name string) {
	name, factor := scaleOf(v, unit)
	return significant(v * factor), name
}

// scaleOf returns the unit in which v reads best and the factor to it.
func scaleOf(v float64, unit string) (name string, factor float64) {
	switch unit {
	case "s":
		if math.Abs(v) < 0.9995 { // what rounds to 1000 ms is 1 s
			return "ms", 1000
		}
		return "s", 1
	case "ratio":
		return "%", 100
	case "", "1":
		return "", 1
	}
	return unit, 1
}

// significant rounds v to three significant digits, two below 1, and never writes
// an exponent. Whole numbers above 1000 keep all their digits.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 3
	if math.Abs(v) < 0.9995 { // what rounds to 1.00 is not below 1
		digits = 2
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil || math.Abs(v) >= 1000 {
		rounded = v
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return minus(strconv.FormatFloat(rounded, 'f', min(max(decimals, 0), 6), 64))
}

// minus writes the sign of a negative number as typographers do, so that it is
// not taken for a hyphen.
func minus(number string) string { return strings.Replace(number, "-", "\u2212", 1) }

// declared writes a number that somebody chose, with the digits that it has.
func declared(v float64) string { return minus(strconv.FormatFloat(v, 'f', -1, 64)) }

// change writes the ratio to a baseline: a percentage up to threefold, a factor above.
func change(ratio float64) string {
	percent := 100 * (ratio - 1)
	switch {
	case ratio >= 3:
		return "×" + significant(ratio)
	case math.Abs(percent) < 0.05:
		return "±0\u00a0%"
	case math.Abs(percent) < 9.95:
		return minus(fmt.Sprintf("%+.1f\u00a0%%", percent))
	}
	return minus(fmt.Sprintf("%+.0f\u00a0%%", percent))
}

// times writes a ratio as a factor with two decimals, three digits above 10.
func times(ratio float64) string {
	if ratio >= 10 {
		return "×" + significant(ratio)
	}
	return fmt.Sprintf("×%.2f", ratio)
}

// maxDecimals is where beside stops: closer than that, nobody can tell.
const maxDecimals = 6

// beside writes a ratio as times does, but without the sign and with more decimals
// where else it would look like the line that it is compared with.
func beside(ratio, line float64) string {
	text := strings.TrimPrefix(times(ratio), "×")
	for decimals := 3; decimals <= maxDecimals && ratio != line; decimals++ {
		if shown, err := strconv.ParseFloat(text, 64); err != nil || shown != roundTo(line, decimals-1) {
			break
		}
		text = strconv.FormatFloat(ratio, 'f', decimals, 64)
	}
	return text
}

// roundTo rounds as a number with so many decimals is printed.
func roundTo(v float64, decimals int) float64 {
	shown, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	if err != nil {
		return v
	}
	return shown
}

// clock writes a length of time in hours, minutes and seconds: 1h02m, 18m20s, 4.2s.
func clock(seconds float64) string {
	if seconds < 0 {
		return "\u2212" + clock(-seconds)
	}
	if seconds < 9.95 {
		return strconv.FormatFloat(seconds, 'g', 2, 64) + "s"
	}
	whole := int(math.Round(seconds))
	h, m, s := whole/3600, whole/60%60, whole%60
	switch {
	case h > 0 && m == 0 && s < 30:
		return fmt.Sprintf("%dh", h)
	case h > 0:
		return fmt.Sprintf("%dh%02dm", h, m)
	case m > 0 && s == 0:
		return fmt.Sprintf("%dm", m)
	case m > 0:
		return fmt.Sprintf("%dm%02ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}

// count writes an integer with thin spaces between thousands.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "\u2212", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && len(digits) > 4 {
			b.WriteString("\u202f")
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// pValue writes a p-value; below a thousandth nobody believes the digits.
func pValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return significant(p)
}

// rounded cuts v to five significant digits, which is more than a chart can show.
// What overflowed on the way becomes the largest number: JSON has no infinity.
func rounded(v float64) float64 {
	switch {
	case math.IsNaN(v):
		return 0
	case math.IsInf(v, 0):
		return math.Copysign(math.MaxFloat64, v)
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	if err != nil {
		return v
	}
	return r
}
