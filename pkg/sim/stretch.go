package sim

import "bgbench/pkg/sim/kernel"

// Stretch is a run of steps of which each made one token of a call.
type Stretch struct {
	At []kernel.Time // when the tokens became ready
	// Gaps are the seconds between each of At and the one before. The first of them
	// counts from a step that may not be of the call.
	Gaps []float32
}

// End is when the last token became ready.
func (s Stretch) End() kernel.Time { return s.At[len(s.At)-1] }

// Patient is a Reply that may hear of tokens after they were ready: of its first one at
// once, of others when the call ends or is aborted, or when somebody asks for the
// numbers that they change. A server that makes a thousand tokens a simulated second
// then need not tell anyone of each.
type Patient interface {
	Reply
	// IsPatient reports whether the Reply is one, as a Reply is that passes on what it
	// hears when the next one is.
	IsPatient() bool
	// Stretch delivers tokens that became ready one after the other. s is valid until it
	// returns. It may be called from inside an abort function.
	Stretch(s Stretch)
}

// AsPatient returns r as a Patient, nil when it is none.
func AsPatient(r Reply) Patient {
	if p, ok := r.(Patient); ok && p.IsPatient() {
		return p
	}
	return nil
}
