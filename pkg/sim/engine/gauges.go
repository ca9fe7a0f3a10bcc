package engine

// Gauges are what a router learns of a server from its metrics page, as they stood
// after the last step.
type Gauges struct {
	Waiting, Running int
	KVUsage          float64 // 0 to 1
}

// Gauges returns the server's gauges.
func (s *Server) Gauges() Gauges {
	m := s.metrics
	return Gauges{int(m.waiting.Value()), int(m.running.Value()), m.kvUsage.Value()}
}
