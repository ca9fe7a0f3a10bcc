package main

import (
	"fmt"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/load"
	"bgbench/pkg/openai"
)

// connectionFlags say how to reach a stack over HTTP. There is none for the API key
// itself: a list of processes would show it.
func connectionFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.DurationFlag{Name: "connect-timeout", Value: openai.DefaultConnectTimeout, Usage: "give up after `TIME` without a connection"},
		&ucli.DurationFlag{Name: "headers-timeout", Usage: "give up after `TIME` from the connection without an answer; 0 never"},
		&ucli.DurationFlag{Name: "first-token-timeout", Usage: "give up after `TIME` from the connection without output; 0 never"},
		&ucli.DurationFlag{Name: "idle-timeout", Usage: "give up after `TIME` without another chunk of a stream; 0 never"},
		&ucli.Int64Flag{Name: "max-answer-bytes", Value: openai.DefaultAnswerLimit, Usage: "give up on an answer of more than `N` bytes"},
		&ucli.BoolFlag{Name: "http2", Usage: "speak HTTP/2, without TLS by prior knowledge"},
		&ucli.StringFlag{Name: "ca-file", Usage: "trust the certificates in `FILE` (PEM), too"},
		&ucli.StringFlag{Name: "proxy", Usage: "go through the proxy at `URL`, or \"environment\" for HTTPS_PROXY; none otherwise"},
		&ucli.StringFlag{Name: "api-key-file", Usage: "`FILE` that holds the API key; without it the environment variable BG_API_KEY"},
		&ucli.StringFlag{Name: "tenant", Usage: "`NAME` as whom batch jobs are submitted (" + load.TenantHeader + ")"},
		&ucli.StringSliceFlag{Name: "header", Usage: "send `NAME:VALUE` with every request; may be repeated"},
	}
}

// connection reads the flags. What is wrong with one is a wrong usage.
func connection(c *ucli.Context, env cli.Env) (load.Connection, error) {
	to := load.Connection{
		Timeouts: openai.Timeouts{
			Connect: c.Duration("connect-timeout"), Headers: c.Duration("headers-timeout"),
			FirstToken: c.Duration("first-token-timeout"), Idle: c.Duration("idle-timeout"),
		},
		CAFile: c.String("ca-file"), Proxy: c.String("proxy"), HTTP2: c.Bool("http2"),
		MaxAnswerBytes: c.Int64("max-answer-bytes"), Tenant: c.String("tenant"),
	}
	var err error
	if to.Header, err = load.ParseHeaders(c.StringSlice("header")); err != nil {
		return to, cli.Usagef("--header: %w", err)
	}
	if path := c.String("api-key-file"); path != "" {
		if to.APIKey, err = openai.ReadSecret(path); err != nil {
			err = fmt.Errorf("API key: %w", err)
		}
	} else if text, ok := env.LookupEnv("BG_API_KEY"); ok && text != "" {
		if to.APIKey, err = openai.ParseSecret(text); err != nil {
			err = fmt.Errorf("BG_API_KEY: %w", err)
		}
	}
	if err != nil {
		return to, cli.Usage(err)
	}
	if err := to.Check(); err != nil {
		return to, cli.Usagef("--%w", err)
	}
	return to, nil
}
