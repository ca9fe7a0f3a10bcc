package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// listener is a Reply that notes what it hears.
type listener struct {
	at    []kernel.Time
	gaps  []float32
	ended int
	usage sim.Usage
	onEnd func()
}

func (l *listener) Headers(kernel.Time, string) {}

func (l *listener) Tokens(at kernel.Time, _ int) {
	if len(l.at) > 0 {
		l.gaps = append(l.gaps, float32((at - l.at[len(l.at)-1]).Seconds()))
	}
	l.at = append(l.at, at)
}

func (l *listener) End(_ kernel.Time, end sim.End) {
	l.ended++
	l.usage = end.Usage
	l.onEnd()
}

// patientListener is one that can wait.
type patientListener struct{ listener }

func (*patientListener) IsPatient() bool { return true }

func (l *patientListener) Stretch(s sim.Stretch) {
	l.gaps = append(l.gaps, float32((s.At[0] - l.at[len(l.at)-1]).Seconds()))
	l.gaps = append(l.gaps, s.Gaps[1:]...)
	l.at = append(l.at, s.At...)
}

// A cache that is too small has requests lose their blocks, so that they get no token in
// some steps; some are aborted, by an event of their own or by the end of another one, and
// now and then all are told of what they missed.
func TestPatientRepliesHearWhatOthersHear(t *testing.T) {
	for _, async := range []bool{false, true} {
		plain, patient := make([]*listener, 60), make([]*listener, 60)
		a := listen(t, async, func(i int, onEnd func()) sim.Reply {
			plain[i] = &listener{onEnd: onEnd}
			return plain[i]
		})
		b := listen(t, async, func(i int, onEnd func()) sim.Reply {
			l := &patientListener{listener{onEnd: onEnd}}
			patient[i] = &l.listener
			return l
		})
		if a.Stats().Preemptions == 0 {
			t.Error("nobody was preempted")
		}
		if a, b := a.Metrics().AppendValues(nil), b.Metrics().AppendValues(nil); !slices.EqualFunc(a, b, func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*a }) {
			t.Errorf("async %v: got the metrics %v, expected %v", async, b, a)
		}
		for i := range plain {
			a, b := plain[i], patient[i]
			if !slices.Equal(a.at, b.at) || !slices.Equal(a.gaps, b.gaps) || a.usage != b.usage || a.ended != 1 || b.ended != 1 {
				t.Fatalf("async %v, call %d: got %d tokens, %d gaps, %+v, expected %d, %d, %+v, at the same instants",
					async, i, len(b.at), len(b.gaps), b.usage, len(a.at), len(a.gaps), a.usage)
			}
		}
	}
}

func listen(t *testing.T, async bool, reply func(i int, onEnd func()) sim.Reply) *Server {
	k := kernel.NewVirtual()
	cfg := testConfig(t, func(e *spec.Engine) { e.AsyncScheduling = async })
	cfg.Scheduler.NumGPUBlocks = 400
	s := New(k, cfg)
	random := rand.New(rand.NewPCG(5, 6))
	aborts := make([]func(), 60)
	for i := range aborts {
		call := &sim.Call{ID: "r", Model: testModel, Prompt: prompt(i, 50+random.IntN(400)), MaxTokens: 1 + random.IntN(300)}
		at := time.Duration(random.IntN(3000)) * time.Millisecond
		abortAfter := time.Duration(random.IntN(20000)) * time.Millisecond
		k.At(at, func() {
			aborts[i] = s.Submit(call, reply(i, func() {
				if other := aborts[(i*7+3)%len(aborts)]; i%5 == 0 && other != nil {
					other()
				}
			}))
			if i%4 == 0 {
				k.After(abortAfter, aborts[i])
			}
		})
	}
	for i := range 20 {
		k.At(time.Duration(i)*time.Second, s.CatchUp)
	}
	k.At(10*time.Minute, k.Stop)
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
