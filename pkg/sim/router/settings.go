package router

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Flags are the endpoint picker's command-line flags that change what it does.
// Zero durations stand for its defaults.
type Flags struct {
	AllowExperimentalPlugins bool
	RefreshMetricsInterval   time.Duration // 50 ms
	// MetricsStalenessThreshold (2 s) is a flag of the process. It only paces
	// eviction; the utilization detector has a parameter of the same name.
	MetricsStalenessThreshold time.Duration
}

// Settings are what a configuration means: decoded, checked, defaults applied.
type Settings struct {
	flowControl bool
	scraped     bool // whether model servers' metrics are read at all
	exactTokens bool // prompts are counted by the model's tokenizer
	detector    detector
	detectorID  string // its plugin name
	producers   []producer
	profile     profileSettings

	maxBytes, maxRequests        int64 // 0 = unlimited
	ttl                          time.Duration
	bands                        []bandSettings // the listed ones, and 0
	defaultBand, defaultNegative bandSettings
	limit                        limitPolicy
	evict                        bool
	grace                        time.Duration
	refresh                      time.Duration
}

// producer is an instance of inflight-load-producer.
type producer struct {
	name     string
	estimate tokenEstimate
}

type bandSettings struct {
	priority              int
	maxBytes, maxRequests int64
	ordering              ordering
	roundRobin            bool // else global-strict
}

// profileSettings are the plugins of the one scheduling profile.
type profileSettings struct {
	name    string
	filters []filter
	scorers []weightedScorer
	picker  string
}

const (
	defaultRefresh   = 50 * time.Millisecond
	defaultTTL       = 60 * time.Second
	defaultStaleness = 200 * time.Millisecond
	flagStaleness    = 2 * time.Second
	// reclaimBudget is what an engine may take to give an aborted request's memory back.
	reclaimBudget = 250 * time.Millisecond
	// leadingGrace paces eviction where the gauge falls the moment a stream ends.
	leadingGrace = 10 * time.Millisecond
)

// Limits of a band that the configuration leaves out or sets to 0.
const (
	defaultBandBytes    = 1_000_000_000
	defaultBandRequests = 5000
)

// Parse reads an EndpointPickerConfig as the endpoint picker does when it starts
// and refuses what that refuses, with a *StartupError. It refuses one thing more:
// plugins that would act but that the model has no rule for.
func Parse(text string, flags Flags) (Settings, error) {
	c, doc, err := decodeConfig(text)
	if err != nil {
		return Settings{}, err
	}
	gates, err := featureGates(c.FeatureGates, doc)
	if err != nil {
		return Settings{}, err
	}
	b := builder{config: c, doc: doc, plugins: map[string]*plugin{}}
	steps := []func() error{b.instantiate, b.applyDefaults, b.validate, b.schedule, b.dataLayer}
	if gates[gateFlowControl] {
		steps = append(steps, b.flowControl)
	}
	steps = append(steps, b.parsers, b.detect, b.produce, func() error { return b.stability(flags) }, b.foreign)
	for _, step := range steps {
		if err := step(); err != nil {
			return Settings{}, err
		}
	}
	s := b.settings
	s.flowControl = gates[gateFlowControl]
	s.refresh = positive(flags.RefreshMetricsInterval, defaultRefresh)
	s.grace = leadingGrace
	if _, ok := s.detector.(utilizationDetector); ok {
		s.grace = s.refresh + positive(flags.MetricsStalenessThreshold, flagStaleness) + reclaimBudget
	}
	return s, nil
}

func positive(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

const gateFlowControl = "flowControl"

// featureGates reads names, each alone or as name=true or name=false.
func featureGates(listed []string, doc *value) (map[string]bool, error) {
	gates := map[string]bool{gateFlowControl: false, "haPopulateNonLeaderDatastore": true}
	for i, gate := range listed {
		name, setting, given := strings.Cut(gate, "=")
		line := doc.lineAt("featureGates", i)
		if _, ok := gates[name]; !ok {
			return nil, &StartupError{line, phaseParse + fmt.Sprintf("feature gate validation failed: feature gate '%s' is unknown or unregistered", name),
				"v0.10 has flowControl and haPopulateNonLeaderDatastore"}
		}
		on := true
		if given {
			var err error
			if on, err = strconv.ParseBool(strings.ToLower(strings.TrimSpace(setting))); err != nil {
				return nil, &StartupError{line, phaseParse + fmt.Sprintf("feature gate validation failed: %s is not a valid value for the feature gate %s (error: %v)", setting, name, err),
					"write " + name + "=true or " + name + "=false"}
			}
		}
		gates[name] = on
	}
	return gates, nil
}
