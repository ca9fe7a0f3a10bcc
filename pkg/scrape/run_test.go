package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bgbench/pkg/record"
)

// answers is an http transport that answers without a network, so that the tests
// run on the clock of synctest.
type answers func(*http.Request) (string, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := a(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{"Content-Type": {"text/plain"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// waitFor sleeps as long as a slow server would, or until the request ends.
func waitFor(r *http.Request, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// pick writes "metric value @offset" of the given metric for each row of source.
func pick(rows []record.Sample, source, metric string, start time.Time) string {
	var out []string
	for _, r := range rows {
		if r.Source == source && r.Metric == metric {
			out = append(out, fmt.Sprintf("%v@%v", r.Value, r.At.Sub(start)))
		}
	}
	return strings.Join(out, " ")
}

func TestRoundsKeepToTheGridAndNoneIsCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var n atomic.Int64
		var rows []record.Sample
		ctx, cancel := context.WithTimeout(t.Context(), 6500*time.Millisecond)
		defer cancel()
		healths, err := Run(ctx, Config{
			Endpoints: []Endpoint{{"a", "http://a/metrics"}, {"b", "http://b/metrics"}},
			Interval:  time.Second,
			Client: &http.Client{Transport: answers(func(r *http.Request) (string, error) {
				if r.URL.Host == "b" {
					return "y 1\n", nil
				}
				return fmt.Sprintf("x %d\n", n.Add(1)), waitFor(r, 300*time.Millisecond)
			})},
			Write: func(some []record.Sample) error {
				rows = append(rows, some...)
				if n.Load() == 2 && some[0].Metric == "x" {
					time.Sleep(2500 * time.Millisecond) // a disk that hangs
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		// Writing the answer of 1 s ends at 3.8 s: 2 s and 3 s are missed.
		if got, want := pick(rows, "a", "x", start), "1@0s 2@1s 3@4s 4@5s 5@6s"; got != want {
			t.Errorf("found %s, expected %s", got, want)
		}
		if got, want := pick(rows, "a", "scrape_duration_seconds", start), "0.3@0s 0.3@1s"; !strings.HasPrefix(got, want) {
			t.Errorf("found durations %s, expected %s", got, want)
		}
		if got, want := pick(rows, "a", "bg_scrape_missed_total", start), "0@0s 0@1s 2@4s 2@5s 2@6s"; got != want || healths[0].Missed != 2 {
			t.Errorf("found %s and %d missed, expected %s and 2", got, healths[0].Missed, want)
		}
		if host := "b"; *rows[len(rows)-1].Instance != host && *rows[len(rows)-1].Instance != "a" || healths[1].Scrapes == 0 || healths[1].Failures != 0 {
			t.Errorf("last row of instance %s, health %+v", *rows[len(rows)-1].Instance, healths[1])
		}
	})
}

func TestSlowOrFailingEndpointIsDownAndDoesNotHoldTheOthersUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var rows []record.Sample
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		healths, err := Run(ctx, Config{
			Endpoints: []Endpoint{{"slow", "http://slow/metrics"}, {"gone", "http://gone/metrics"}, {"good", "http://good/metrics"}},
			Interval:  time.Second, Timeout: 400 * time.Millisecond, MustAnswer: true,
			Client: &http.Client{Transport: answers(func(r *http.Request) (string, error) {
				switch r.URL.Host {
				case "slow":
					return "x 1\n", waitFor(r, time.Minute)
				case "gone":
					return "", errors.New("connection refused")
				}
				return "x 1\n", nil
			})},
			Write: func(some []record.Sample) error { rows = append(rows, some...); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		for source, want := range map[string]string{"slow": "0@0s 0@1s", "gone": "0@0s 0@1s", "good": "1@0s 1@1s"} {
			if got := pick(rows, source, "up", start); got != want {
				t.Errorf("%s: found up %s, expected %s", source, got, want)
			}
		}
		if got := pick(rows, "good", "x", start); got != "1@0s 1@1s" {
			t.Errorf("found %s of the good endpoint", got)
		}
		if err := healths[0].LastFailure; err == nil || err.Error() != "no answer within 400ms" || healths[0].Failures != 2 {
			t.Errorf("slow: found %d failures, the last %v", healths[0].Failures, err)
		}
		if err := healths[1].LastFailure; err == nil || err.Error() != "connection refused" {
			t.Errorf("gone: found %v", err)
		}
	})
}

func TestStackThatIsDownFailsOnlyWhereItMustAnswer(t *testing.T) {
	for _, must := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			written := 0
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			_, err := Run(ctx, Config{
				Endpoints: []Endpoint{{"vllm-0", "http://127.0.0.1:9/metrics"}}, Interval: time.Second, MustAnswer: must,
				Client: &http.Client{Transport: answers(func(*http.Request) (string, error) { return "", errors.New("connection refused") })},
				Write:  func(rows []record.Sample) error { written += len(rows); return nil },
			})
			if must && (err == nil || err.Error() != "no endpoint answered: vllm-0 at http://127.0.0.1:9/metrics: connection refused" || written != 0) {
				t.Errorf("found error %v and %d rows", err, written)
			}
			if !must && (err != nil || written != 8) {
				t.Errorf("found error %v and %d rows, expected none and the four of a scrape twice", err, written)
			}
		})
	}
}

func TestScrapeThatIsInterruptedIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows []record.Sample
		ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
		defer cancel()
		healths, err := Run(ctx, Config{
			Endpoints: []Endpoint{{"a", "http://a/metrics"}}, Interval: time.Second,
			Client: &http.Client{Transport: answers(func(r *http.Request) (string, error) { return "x 1\n", waitFor(r, 500*time.Millisecond) })},
			Write:  func(some []record.Sample) error { rows = append(rows, some...); return nil },
		})
		if err != nil || len(rows) != 5 || healths[0].Failures != 0 {
			t.Errorf("found error %v, %d rows, %+v; expected x and the four of a scrape, of the first round", err, len(rows), healths[0])
		}
	})
}

func TestRunEndsWhenRowsCannotBeWritten(t *testing.T) {
	full := errors.New("no space left on device")
	_, err := Run(t.Context(), Config{
		Endpoints: []Endpoint{{"a", "http://a/metrics"}}, Interval: time.Hour,
		Client: &http.Client{Transport: answers(func(*http.Request) (string, error) { return "x 1\n", nil })},
		Write:  func([]record.Sample) error { return full },
	})
	if !errors.Is(err, full) {
		t.Errorf("found %v, expected %v", err, full)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	for want, cfg := range map[string]Config{
		"found interval 0s, expected more than 0":             {},
		`metrics endpoint a: found URL "localhost", expected`: {Interval: time.Second, Endpoints: []Endpoint{{"a", "localhost"}}},
	} {
		if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
}

func upClient() *http.Client {
	return &http.Client{Transport: answers(func(*http.Request) (string, error) { return "x 1\n", nil })}
}

func upConfig() Config {
	return Config{Endpoints: []Endpoint{{"a", "http://a/metrics"}}, Interval: time.Hour, Client: upClient()}
}

func downConfig() Config {
	return Config{
		Endpoints: []Endpoint{{"a", "http://a/metrics"}}, Interval: time.Second, MustAnswer: true,
		Client: &http.Client{Transport: answers(func(*http.Request) (string, error) { return "", errors.New("connection refused") })},
	}
}

func TestEndpointsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var rows []record.Sample
		a, b := Endpoint{"a", "http://a/metrics"}, Endpoint{"b", "http://b/metrics"}
		ctx, cancel := context.WithTimeout(t.Context(), 5200*time.Millisecond)
		defer cancel()
		changes := map[int][]Endpoint{1: {a, b}, 3: {b}, 4: {a, b}} // by the second that ends
		n := 0
		healths, err := Run(ctx, Config{
			Endpoints: []Endpoint{a}, Interval: time.Second,
			Refresh: func() ([]Endpoint, bool, error) {
				now, changed := changes[n]
				n++
				return now, changed, nil
			},
			Client: &http.Client{Transport: answers(func(*http.Request) (string, error) { return "x 1\n", nil })},
			Write:  func(some []record.Sample) error { rows = append(rows, some...); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		for source, want := range map[string]string{"a": "1@0s 1@1s 1@2s 1@3s 1@5s", "b": "1@2s 1@3s 1@4s 1@5s"} {
			if got := pick(rows, source, "x", start); got != want {
				t.Errorf("%s: found %s, expected %s", source, got, want)
			}
		}
		if len(healths) != 2 || healths[0].Scrapes != 5 || healths[0].Missed != 0 || healths[1].Missed != 0 {
			t.Errorf("found %+v", healths)
		}
	})
}

func TestEndpointThatHangsForAsLongAsItMayIsAskedAtEveryInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var rows []record.Sample
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		healths, err := Run(ctx, Config{
			Endpoints: []Endpoint{{"slow", "http://slow/metrics"}, {"good", "http://good/metrics"}}, Interval: time.Second,
			Client: &http.Client{Transport: answers(func(r *http.Request) (string, error) {
				if r.URL.Host == "slow" {
					return "x 1\n", waitFor(r, time.Minute)
				}
				return "x 1\n", nil
			})},
			Write: func(some []record.Sample) error { rows = append(rows, some...); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := pick(rows, "slow", "up", start); got != "0@0s 0@1s 0@2s" || healths[0].Missed != 0 {
			t.Errorf("slow: found up %s and %d missed", got, healths[0].Missed)
		}
		if got := pick(rows, "good", "up", start); got != "1@0s 1@1s 1@2s 1@3s" {
			t.Errorf("good: found up %s", got)
		}
	})
}

func TestDescriptorThatChangesIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stack.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	refresh := Watched(path, func(path string) ([]Endpoint, error) {
		text, err := os.ReadFile(path)
		if string(text) == "half" {
			err = errors.New("no descriptor")
		}
		return []Endpoint{{Source: string(text)}}, err
	})
	for _, c := range []struct{ name, text, want string }{
		{"as it was", "", ""}, {"longer", "bb", "bb"}, {"the same again", "", ""}, {"half written", "half", ""}, {"whole", "ccc", "ccc"}, {"gone", "-", ""},
	} {
		switch c.text {
		case "":
		case "-":
			os.Remove(path)
		default:
			write(c.text)
		}
		got, changed, err := refresh()
		if err != nil || changed != (c.want != "") || changed && got[0].Source != c.want {
			t.Errorf("%s: found %v, %t, %v", c.name, got, changed, err)
		}
	}
}
