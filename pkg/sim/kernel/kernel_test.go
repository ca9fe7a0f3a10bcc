package kernel

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

func TestEventsRunInTheOrderOfInstantsAndTiesInTheOrderOfInsertion(t *testing.T) {
	k := NewVirtual()
	var got []int
	note := func(n int) func() { return func() { got = append(got, n) } }
	k.At(3*ms, note(4))
	k.At(1*ms, note(1))
	k.At(3*ms, note(5))
	k.At(2*ms, func() {
		got = append(got, 2)
		k.After(0, note(3))
		k.At(1*ms, note(33)) // an instant that has passed becomes now
		k.At(9*ms, k.Stop)
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 3, 33, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("got order %v, want %v", got, want)
	}
	if k.Now() != 9*ms {
		t.Errorf("stopped at %v, want 9ms", k.Now())
	}
}

func TestAStoppedTimerDoesNotRunAndStopTellsWhetherItWasThere(t *testing.T) {
	k := NewVirtual()
	ran := false
	timer := k.At(2*ms, func() { ran = true })
	var early Timer
	early = k.At(1*ms, func() {
		if early.Stop() {
			t.Error("Stop of the running event said that it was still in the queue")
		}
		if !timer.Stop() {
			t.Error("Stop of a waiting event said that it was gone")
		}
		if timer.Stop() {
			t.Error("the second Stop said that the event was still there")
		}
		k.At(3*ms, k.Stop)
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ran {
		t.Error("the stopped event ran")
	}
	if (Timer{}).Stop() {
		t.Error("the zero Timer said that it was there")
	}
}

func TestATimerOfAnEventThatRanDoesNotStopItsSuccessor(t *testing.T) {
	k := NewVirtual()
	old := k.At(1*ms, func() {})
	ran := false
	k.At(2*ms, func() {
		k.At(3*ms, func() { ran = true; k.Stop() }) // reuses the memory of old
		if old.Stop() {
			t.Error("a timer of the past stopped something")
		}
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !ran {
		t.Error("the successor did not run")
	}
}

func TestAnEmptyVirtualQueueIsADeadlock(t *testing.T) {
	k := NewVirtual()
	k.At(1*ms, func() {})
	if err := k.Run(t.Context()); !errors.Is(err, ErrDeadlock) {
		t.Errorf("got %v, want ErrDeadlock", err)
	}
}

func TestRunReturnsTheCauseOfACancelledContext(t *testing.T) {
	cause := errors.New("ctrl-c")
	for name, k := range map[string]*Kernel{"virtual": NewVirtual(), "wall": NewWall()} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var again func()
			n := 0
			again = func() {
				if n++; n == 10 {
					cancel(cause)
				}
				k.After(0, again)
			}
			k.At(0, again)
			if err := k.Run(ctx); !errors.Is(err, cause) {
				t.Errorf("got %v, want the cause", err)
			}
		})
	}
}

func TestAdvanceGoesUpToTheNextEventAndNoFurther(t *testing.T) {
	k := NewVirtual()
	k.At(1*ms, func() {
		if !k.Advance(4*ms) || k.Now() != 4*ms {
			t.Error("Advance refused an instant before the next event")
		}
		if k.Advance(5 * ms) {
			t.Error("Advance overtook an event that is due at the same instant")
		}
		if k.Now() != 4*ms {
			t.Errorf("a refused Advance moved the clock to %v", k.Now())
		}
	})
	k.At(5*ms, func() {
		k.Stop()
		if k.Advance(9 * ms) {
			t.Error("Advance went on after Stop")
		}
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTheWallClockSleepsToEventsAndRunsPostedWork(t *testing.T) {
	k := NewWall()
	const posts = 100
	var got []int
	k.At(20*ms, func() {
		if passed := time.Since(k.Epoch()); passed < 20*ms {
			t.Errorf("the event of 20ms ran after %v", passed)
		}
		if k.Advance(time.Hour) {
			t.Error("Advance moved the wall clock")
		}
		got = append(got, -1)
	})
	var wg sync.WaitGroup
	for range posts {
		wg.Go(func() {
			k.Post(func() {
				got = append(got, 1)
				if len(got) == posts+1 {
					k.Stop()
				}
			})
		})
	}
	k.At(21*ms, func() {
		wg.Wait()
		if len(got) == posts+1 {
			k.Stop()
		}
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got) != posts+1 {
		t.Errorf("ran %d functions, want %d", len(got), posts+1)
	}
}

func TestPostOnTheVirtualClockPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Post on the virtual clock did not panic")
		}
	}()
	NewVirtual().Post(func() {})
}

// The queue against a sorted slice, with timers stopped at random.
func TestTheQueueIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			at Time
			id int
		}
		k := NewVirtual()
		var want, got []entry
		var timers []Timer
		for id := range rapid.IntRange(0, 60).Draw(t, "events") {
			at := Time(rapid.IntRange(0, 20).Draw(t, "at"))
			timers = append(timers, k.At(at, func() { got = append(got, entry{k.Now(), id}) }))
			want = append(want, entry{at, id})
		}
		for id, timer := range timers {
			if rapid.Bool().Draw(t, "stop") {
				timer.Stop()
				want = slices.DeleteFunc(want, func(e entry) bool { return e.id == id })
			}
		}
		slices.SortStableFunc(want, func(a, b entry) int { return int(a.at - b.at) })
		if err := k.Run(context.Background()); !errors.Is(err, ErrDeadlock) {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// BenchmarkKernel is one event among 1,000 that wait: push and pop.
func BenchmarkKernel(b *testing.B) {
	k := NewVirtual()
	n := 0
	var again func()
	again = func() {
		if n++; n >= b.N {
			k.Stop()
			return
		}
		k.After(time.Duration(n%1000)*ms, again)
	}
	for i := range 1000 {
		k.At(Time(i)*ms, again)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := k.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
