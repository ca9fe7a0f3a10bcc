package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// shownWarnings is how many warnings stand open: more would push the answer off the screen.
const shownWarnings = 6

// notices are the warnings of a page: those that stand open, and the rest, folded.
type notices struct{ First, Rest []string }

// fold keeps all open where only one would be left to fold.
func fold(warnings []string) notices {
	if len(warnings) <= shownWarnings+1 {
		return notices{First: warnings}
	}
	return notices{First: warnings[:shownWarnings], Rest: warnings[shownWarnings:]}
}

// warnings are the warnings of the results, each with the cells that it is about. What
// the trials of an arm say alike is said once, in the words of the first.
func (s study) warnings() []string {
	type alike struct{ arm, words string }
	var order []alike
	said := map[alike][]analysis.Warning{}
	for _, w := range s.Results.Warnings {
		if strings.HasPrefix(w.Message, "INVALID: ") {
			continue // the failed checks say the same
		}
		at := alike{w.Arm, digits.ReplaceAllString(w.Message, "0")}
		if said[at] == nil {
			order = append(order, at)
		}
		said[at] = append(said[at], w)
	}
	var texts []string
	for _, at := range order {
		texts = append(texts, gathered(said[at]))
	}
	return texts
}

// digits are what may differ between warnings that say the same of two trials.
var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// gathered is the text of warnings of one arm that differ in their figures at most.
func gathered(warnings []analysis.Warning) string {
	first := warnings[0]
	text := prose(first.Message)
	if first.Arm == "" {
		return text
	}
	var trials []string
	same := true
	for _, w := range warnings {
		if trial := fmt.Sprint(w.Trial); w.Trial > 0 && !slices.Contains(trials, trial) {
			trials = append(trials, trial)
		}
		same = same && w.Message == first.Message
	}
	switch {
	case trials == nil:
		return label(first.Arm) + ": " + text
	case same || len(trials) == 1:
		return fmt.Sprintf("%s, trial %s: %s", label(first.Arm), strings.Join(trials, ", "), text)
	}
	return fmt.Sprintf("%s, trial %s: %s; alike in trial %s", label(first.Arm), trials[0], text, strings.Join(trials[1:], ", "))
}
