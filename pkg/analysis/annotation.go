package analysis

import (
	"fmt"
	"io"
	"strings"
)

// GitHub reads these characters as its own in a workflow command, and more of them in a
// property (actions/toolkit, packages/core/src/command.ts).
var (
	annotationMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	annotationProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteAnnotations writes findings as annotations of a GitHub workflow: an error for
// each that is not OK, and a notice that counts the others.
func WriteAnnotations(w io.Writer, findings []Finding) error {
	for _, f := range findings {
		if f.OK || f.Skipped {
			continue
		}
		_, err := fmt.Fprintf(w, "::error title=%s::%s\n",
			annotationProperty.Replace(f.Arm+" "+f.name()), annotationMessage.Replace(f.sentence()))
		if err != nil {
			return err
		}
	}
	compared, failed, skipped := Tally(findings)
	text := fmt.Sprintf("%d of %s hold", compared-failed, Plural(compared, "comparison"))
	if skipped > 0 {
		text += fmt.Sprintf(", %d skipped", skipped)
	}
	_, err := fmt.Fprintf(w, "::notice title=bg-analyze check::%s\n", text)
	return err
}
