package main

import (
	"encoding/json"
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
