package interop

// spanOfRun is the time from the first send to the last end.
type spanOfRun struct {
	any      bool
	from, to float64
}

func (s *spanOfRun) add(from, to float64) {
	if !s.any {
		*s = spanOfRun{true, from, to}
	}
	s.from, s.to = min(s.from, from), max(s.to, to)
}

func (s spanOfRun) length() float64 { return s.to - s.from }
