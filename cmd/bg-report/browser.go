package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"bgbench/pkg/cli"
)

// browse opens a page with $BROWSER, or with what the system opens files with.
func browse(ctx context.Context, env cli.Env, page string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if chosen, ok := env.LookupEnv("BROWSER"); ok && strings.TrimSpace(chosen) != "" {
		command = strings.Fields(chosen)
	}
	browser := exec.CommandContext(ctx, command[0], append(command[1:], page)...)
	browser.Stdout, browser.Stderr = env.Stderr, env.Stderr
	if err := browser.Run(); err != nil {
		return cli.WithHint(fmt.Errorf("opening %s with %s: %w", page, command[0], err), "set BROWSER to a browser, or open the file yourself")
	}
	return nil
}
