package analysis

import (
	"fmt"
	"strings"

	"bgbench/pkg/record"
)

// disturbances are what happened to the pods and nodes of a stack on a cluster while it
// was measured.
type disturbances struct {
	watched bool // false on targets where nobody looks
	list    []record.Disturbance
}

// check holds a cell in which nothing happened that no arm asks for.
func (d disturbances) check() Check {
	const name = "stack undisturbed"
	if len(d.list) == 0 {
		return check(name, true, "no pod was restarted, killed, evicted or replaced, no node under pressure")
	}
	var texts []string
	for _, one := range d.list[:min(len(d.list), maxDisturbances)] {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", one.At.Format("15:04:05"), one.Kind, one.Object, one.Detail)))
	}
	return check(name, false, "%d disturbances: %s", len(d.list), strings.Join(texts, "; "))
}

// maxDisturbances is how many the evidence names.
const maxDisturbances = 3
