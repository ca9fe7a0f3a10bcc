package spec

// Router stands between clients and engines. The keys of kind epp are those of
// llm-d's endpoint picker, brought together from the places where its
// configuration has them; EndpointPickerConfig says it in the picker's own format.
type Router struct {
	Kind string `yaml:"kind" json:"kind"` // round-robin, or epp: llm-d's endpoint picker
	// Objectives are the InferenceObjectives of the pool. Each creates a priority band.
	Objectives []Objective `yaml:"objectives" json:"objectives"`
	// InteractiveObjective is the one that interactive requests name.
	InteractiveObjective string `yaml:"interactiveObjective" json:"interactiveObjective"`
	// StandardObjective is the one that requests of class standard name. Without one
	// they have priority 0, as requests have that come from anywhere else.
	StandardObjective string `yaml:"standardObjective" json:"standardObjective"`

	// Detector says what saturation is: requests, tokens or hybrid (the concurrency
	// detector's modes), or utilization.
	Detector             string  `yaml:"detector" json:"detector"`
	MaxConcurrency       int     `yaml:"maxConcurrency" json:"maxConcurrency" unit:"requests"`           // requests a replica
	MaxTokenConcurrency  int     `yaml:"maxTokenConcurrency" json:"maxTokenConcurrency" unit:"tokens"`   // tokens a replica
	QueueDepthThreshold  int     `yaml:"queueDepthThreshold" json:"queueDepthThreshold" unit:"requests"` // waiting requests at which a replica counts as full; of utilization
	KVCacheUtilThreshold float64 `yaml:"kvCacheUtilThreshold" json:"kvCacheUtilThreshold"`               // share of the KV cache in use at which a replica counts as full; of utilization

	// FlowControl queues requests in priority bands; without it the router only
	// refuses requests of negative priority while the pool is saturated.
	FlowControl       bool     `yaml:"flowControl" json:"flowControl"`
	DefaultRequestTTL Duration `yaml:"defaultRequestTTL" json:"defaultRequestTTL"` // longest wait in the queue before a 429; of flowControl
	Bands             []Band   `yaml:"bands" json:"bands"`                         // what differs from the defaults of a band; of flowControl
	Holdback          Holdback `yaml:"holdback" json:"holdback"`                   // ceilings below the whole pool for lower bands; of flowControl
	Eviction          bool     `yaml:"eviction" json:"eviction"`                   // ends requests of negative priority in flight when a higher band waits; of flowControl

	// AllowExperimentalPlugins is the picker's flag of that name, without which it does
	// not start with a plugin of Alpha stability, such as that of Holdback.
	AllowExperimentalPlugins bool `yaml:"allowExperimentalPlugins" json:"allowExperimentalPlugins"`

	// DispatchLag is the model's mean time from a dispatch to the moment at which the
	// detector counts it; bursts overshoot their cap by what passes in it.
	DispatchLag Duration `yaml:"dispatchLag" json:"dispatchLag"`
	// Config is a whole EndpointPickerConfig. It stands in for the keys above that an
	// EndpointPickerConfig has; the objectives still come from here.
	Config string `yaml:"config" json:"config"`
}

// Kinds of router.
const (
	RouterRoundRobin = "round-robin"
	RouterEPP        = "epp"
)

// Saturation detectors: the three modes of the endpoint picker's concurrency
// detector, and its utilization detector.
const (
	DetectorRequests    = "requests"
	DetectorTokens      = "tokens"
	DetectorHybrid      = "hybrid"
	DetectorUtilization = "utilization"
)

// Objective is an InferenceObjective: a name that requests carry, and its priority.
type Objective struct {
	Name     string `yaml:"name" json:"name"`         // what requests carry in their header
	Priority int    `yaml:"priority" json:"priority"` // a higher one goes first; below 0 is sheddable
}

// Band configures one priority band of flow control. A band whose objective exists
// is there with defaults without being listed.
type Band struct {
	Priority    int    `yaml:"priority" json:"priority"`                       // that of the objectives whose requests wait in it
	MaxRequests int    `yaml:"maxRequests" json:"maxRequests" unit:"requests"` // waiting; 0 is the picker's default
	Fairness    string `yaml:"fairness" json:"fairness"`                       // global-strict or round-robin
	Ordering    string `yaml:"ordering" json:"ordering"`                       // fcfs, edf or slo-deadline
}

// Policies of a band.
const (
	FairnessGlobalStrict = "global-strict"
	FairnessRoundRobin   = "round-robin"
	OrderingFCFS         = "fcfs"
	OrderingEDF          = "edf"
	OrderingSLODeadline  = "slo-deadline"
)

// Holdback caps the lower bands at a share of the pool. MinCeiling is that of the
// lowest band, 1 for no holdback.
type Holdback struct {
	Domain     string  `yaml:"domain" json:"domain"`         // rank or value
	MinCeiling float64 `yaml:"minCeiling" json:"minCeiling"` // ceiling of the lowest band as a share of the pool; 1 for no holdback
	MaxCeiling float64 `yaml:"maxCeiling" json:"maxCeiling"` // ceiling of the highest band
}

// Active reports whether some band is capped below the whole pool.
func (h Holdback) Active() bool { return h.MinCeiling < 1 }

// Domains over which ceilings are spread.
const (
	DomainRank  = "rank"
	DomainValue = "value"
)

// ObjectiveOf returns the objective that requests of a phase of the class name.
func (r Router) ObjectiveOf(class string) string {
	if class == ClassStandard {
		return r.StandardObjective
	}
	return r.InteractiveObjective
}

// Priority returns the priority of an objective, 0 for one that the pool does not
// have, as the endpoint picker does.
func (r Router) Priority(objective string) int {
	for _, o := range r.Objectives {
		if o.Name == objective {
			return o.Priority
		}
	}
	return 0
}
