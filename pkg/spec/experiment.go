package spec

// Experiment is arms x trials on one profile. Resolved, it holds the profile and
// the arms whole.
type Experiment struct {
	Name        string `yaml:"name" json:"name"`               // the name of its folder of results
	Description string `yaml:"description" json:"description"` // one line for the catalogue
	// Question is what the experiment asks, as the report prints it.
	Question string  `yaml:"question" json:"question"`
	Target   string  `yaml:"target" json:"target"`               // model, local or kube
	Trials   int     `yaml:"trials" json:"trials" unit:"trials"` // repeats of every arm, each with inputs of its own seed; verdicts need 3
	Baseline string  `yaml:"baseline" json:"baseline"`           // arm that the others are compared with
	Margin   float64 `yaml:"margin" json:"margin"`               // non-inferiority margin as a ratio: 0.1 is 10 %
	Profile  Profile `yaml:"profile" json:"profile"`             // the workload, a name of the catalogue, a file, or keys over one of them (extends)
	Arms     []Arm   `yaml:"arms" json:"arms"`                   // names of the catalogue, files, or keys over one of them (extends)
	// Chains are compared step by step, beside every arm with the baseline.
	Chains []Chain `yaml:"chains,omitempty" json:"chains,omitempty"`
	// Points are those of a sweep over keys of the profile, Swept what a sweep over any
	// keys made of the arms. A sweep writes them, nobody else.
	Points []Point `yaml:"points,omitempty" json:"points,omitempty"`
	Swept  []Swept `yaml:"swept,omitempty" json:"swept,omitempty"` // written by a sweep: what it set in each arm
}

// Targets of an experiment, and of a measurement.
const (
	TargetModel = "model"
	TargetLocal = "local"
	TargetKube  = "kube"
	// TargetEndpoint is an OpenAI endpoint of which only the address is known: bg-load measures
	// it as it is, and bg-deploy has nothing to do with it.
	TargetEndpoint = "endpoint"
)

// Cell is one (arm, trial) in run order.
type Cell struct {
	Index int // 1-based place in the run order
	Arm   string
	Trial int
	Seed  int64
	Dir   string // relative to the experiment: cells/<arm>/t<k>
	// Inputs is the folder of what the cell replays, relative to the experiment:
	// inputs/t<k>, or inputs/<point>/t<k> in a sweep over keys of the profile.
	Inputs string
	// EstimateSeconds is how long the cell will take on the wall clock, roughly.
	EstimateSeconds float64
}
