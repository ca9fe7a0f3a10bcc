package kube

import (
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/tools/remotecommand"
)

// run executes a command in a container, with stdin and stdout as streams.
func (c *Cluster) run(ctx context.Context, namespace, pod, container string, command []string, stdin io.Reader, stdout io.Writer) error {
	request := c.raw.Post().AbsPath("/api/v1/namespaces", namespace, "pods", pod, "exec").
		Param("container", container).Param("stderr", "true").Param("stdout", "true")
	if stdin != nil {
		request = request.Param("stdin", "true")
	}
	for _, word := range command {
		request = request.Param("command", word)
	}
	executor, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return fmt.Errorf("running %s in %s: %w", command[0], pod, err)
	}
	var said strings.Builder
	if stdout == nil {
		stdout = io.Discard
	}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: &said})
	if err != nil {
		return explained(fmt.Sprintf("running %s in %s: %s", strings.Join(command, " "), pod, strings.TrimSpace(said.String())), err)
	}
	return nil
}
