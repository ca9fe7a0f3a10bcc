package router

import "fmt"

// StartupError says why the endpoint picker does not start with a configuration.
// Its text is that of the real component, with the line that caused it in front.
type StartupError struct {
	Line   int // of the configuration, 0 when no line is to blame
	Text   string
	Advice string // what to change
}

func (e *StartupError) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// Hint is the next step for whoever reads the error on a terminal.
func (e *StartupError) Hint() string { return e.Advice }

// The endpoint picker starts in phases; each puts its name before an error.
const (
	phaseParse       = "failed to parse config - "
	phaseDecode      = phaseParse + "failed to decode configuration JSON/YAML: "
	phaseLoad        = "failed to load the configuration - "
	phaseInstantiate = phaseLoad + "plugin instantiation failed: "
	phaseValidate    = phaseLoad + "configuration validation failed: "
	phaseFlowControl = phaseLoad + "failed to load flow control config: "
)
