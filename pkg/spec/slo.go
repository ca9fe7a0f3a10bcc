package spec

// SLO is what a request of the schedule has to keep to count as good. A bound of 0 is
// none. It is declared with the profile, before any run.
type SLO struct {
	TTFT Duration `yaml:"ttft,omitempty" json:"ttft,omitempty"` // from the due time
	TPOT Duration `yaml:"tpot,omitempty" json:"tpot,omitempty"` // time per output token after the first
	E2E  Duration `yaml:"e2e,omitempty" json:"e2e,omitempty"`   // from the due time
}

// Declared reports whether there is any bound.
func (s *SLO) Declared() bool { return s != nil && *s != SLO{} }

func (s *SLO) problems(is *problems, path string) {
	if s == nil {
		return
	}
	for _, bound := range []struct {
		key   string
		value Duration
	}{{"ttft", s.TTFT}, {"tpot", s.TPOT}, {"e2e", s.E2E}} {
		is.check(bound.value >= 0, join(path, bound.key), "found %s, expected 0 or more", bound.value)
	}
}
