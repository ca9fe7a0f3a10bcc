package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"

	"bgbench/pkg/cli"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/stack"
	"bgbench/pkg/spec"
)

// Request says which stack is wanted: an arm of an experiment, or an arm of the
// catalogue with a profile.
type Request struct {
	Experiment string // name or file; empty for a lone arm
	Profile    string // name or file, for a lone arm
	Arm        string
	Target     string // empty: the experiment's
	Trial      int
	Sets       []string // k=v over the arm
}

// Plan resolves a request into the descriptor of a stack that does not run yet.
func Plan(r Request) (Stack, error) {
	if r.Arm == "" {
		return Stack{}, cli.Usagef("--arm: found none, expected the name of an arm")
	}
	if r.Trial < 1 || r.Trial > spec.MaxTrials {
		return Stack{}, cli.Usagef("--trial: found %d, expected 1 to %d", r.Trial, spec.MaxTrials)
	}
	plan := Stack{Target: r.Target}
	profile, err := plan.resolve(r)
	if err != nil {
		return Stack{}, cli.Usage(err)
	}
	return plan.finish(profile, r.Trial)
}

// PlanArm is Plan for an arm of an experiment that is loaded, on the experiment's target.
func PlanArm(e spec.Experiment, arm string, trial int) (Stack, error) {
	var plan Stack
	profile, err := plan.take(e, arm)
	if err != nil {
		return Stack{}, cli.Usage(err)
	}
	return plan.finish(profile, trial)
}

// finish fills in what follows from the arm, its target and its profile.
func (s Stack) finish(profile spec.Profile, trial int) (Stack, error) {
	switch s.Target {
	case spec.TargetModel, spec.TargetLocal, spec.TargetKube:
	default:
		return Stack{}, cli.Usagef("target: found %q, expected %s, %s or %s", s.Target, spec.TargetModel, spec.TargetLocal, spec.TargetKube)
	}
	s.SchemaVersion = stackSchemaVersion
	s.Model, s.MaxModelLen = profile.Model, profile.MaxModelLen
	s.Seed = profile.TrialSeed(trial)
	s.RunID = runID(s, trial)
	if s.Experiment != "" {
		digest, err := profile.Digest()
		if err != nil {
			return Stack{}, err
		}
		s.Trial, s.ProfileSHA256 = trial, digest
	}
	// What the emulated components would refuse at their start is the user's input.
	if _, err := stack.New(kernel.NewVirtual(), s.ModelConfig()); err != nil {
		return Stack{}, cli.Usage(err)
	}
	return s, nil
}

// resolve fills in the arm and returns the profile.
func (s *Stack) resolve(r Request) (spec.Profile, error) {
	if r.Experiment == "" {
		arm, err := spec.LoadArm(r.Arm, r.Sets)
		if err != nil {
			return spec.Profile{}, err
		}
		profile, err := spec.LoadProfile(r.Profile, nil)
		if err != nil {
			return spec.Profile{}, err
		}
		s.Arm = arm
		if s.Target == "" {
			s.Target = spec.TargetLocal
		}
		return profile, nil
	}
	e, err := spec.LoadExperiment(r.Experiment, nil)
	if err != nil {
		return spec.Profile{}, err
	}
	if len(r.Sets) > 0 {
		return spec.Profile{}, fmt.Errorf("--set cannot change an arm of an experiment: change the experiment")
	}
	return s.take(e, r.Arm)
}

// take fills in an arm of an experiment and returns its profile.
func (s *Stack) take(e spec.Experiment, name string) (spec.Profile, error) {
	arm, ok := e.Arm(name)
	if !ok {
		return spec.Profile{}, e.NoArm(name)
	}
	s.Arm, s.Experiment, s.Point = arm, e.Name, e.SweptOf(arm.Name).Point
	declared := e.Declaration()
	s.Declared = &declared
	if s.Target == "" {
		s.Target = e.Target
	}
	return e.ProfileOf(arm.Name), nil
}

// ModelConfig is the stack model that s describes.
func (s Stack) ModelConfig() stack.Config {
	return stack.Config{Arm: s.Arm, Model: s.Model, MaxModelLen: s.MaxModelLen, Seed: s.Seed}
}

// runID is random where something is really started, and a function of the request
// on target model, whose runs repeat byte for byte.
func runID(s Stack, trial int) string {
	if s.Target != spec.TargetModel {
		return uuid.NewString()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%d", s.Experiment, s.Arm.Name, trial, s.Seed))
	return "model-" + hex.EncodeToString(sum[:6])
}
