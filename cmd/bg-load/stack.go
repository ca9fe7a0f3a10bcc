package main

import (
	"encoding/json"
	"os"
	"runtime"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
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

// versions are those of the tool.
func versions() map[string]string {
	return map[string]string{"bg-load": cli.Version(), "go": runtime.Version()}
}
