package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/load"
	"bgbench/pkg/spec"
)

// readStack reads a descriptor, and its text as it was for the metadata.
func readStack(path string) (deploy.Stack, json.RawMessage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return deploy.Stack{}, nil, err
	}
	stack, err := deploy.ReadStack(path)
	return stack, text, err
}

// planStack makes the descriptor of an arm on target model, of which nothing has to be
// brought up.
func planStack(experiment, arm string, trial int) (deploy.Stack, json.RawMessage, error) {
	stack, err := deploy.Plan(deploy.Request{Experiment: experiment, Arm: arm, Trial: trial})
	if err != nil {
		return stack, nil, err
	}
	if stack.Target != spec.TargetModel {
		return stack, nil, cli.Usage(cli.WithHint(fmt.Errorf("experiment %s: target: found %s, expected %s", stack.Experiment, stack.Target, spec.TargetModel),
			"bring the stack up with bg-deploy and give its descriptor with --stack"))
	}
	text, err := stack.JSON()
	return stack, text, err
}

// serves refuses a profile whose prompts the stack cannot serve.
func serves(stack deploy.Stack, profile spec.Profile) error {
	if err := load.Serves(stack, profile); err != nil {
		return cli.Usage(cli.WithHint(err, "bring the stack up for the profile: bg-deploy up --profile NAME"))
	}
	return nil
}

// versions are those of the tool.
func versions() map[string]string {
	return map[string]string{"bg-load": cli.Version(), "go": runtime.Version()}
}
