package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy/tunnel"
)

// prometheusFlags name the server, by its URL or as a Service of a cluster.
func prometheusFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "prometheus", EnvVars: []string{"PROMETHEUS_URL"}, Usage: "`URL` of the server"},
		&ucli.StringFlag{Name: "prometheus-service", Usage: "`NAMESPACE/NAME:PORT` of the server's Service, to which a port is forwarded meanwhile"},
		&ucli.StringFlag{Name: "kubeconfig", Usage: "`FILE` (default: KUBECONFIG, else that of the home directory), for --prometheus-service"},
		&ucli.StringFlag{Name: "context", Usage: "`NAME` in the kubeconfig (default: its current one), for --prometheus-service"},
	}
}

// prometheus is the URL of the server; end closes the way to it.
func prometheus(c *ucli.Context) (url string, end func() error, err error) {
	url, text := c.String("prometheus"), c.String("prometheus-service")
	switch {
	case url == "" && text == "":
		return "", nil, cli.Usagef("--prometheus: found none, expected the URL of a server, or its --prometheus-service")
	case url != "" && text != "":
		return "", nil, cli.Usagef("--prometheus-service: found %s beside %s of --prometheus or PROMETHEUS_URL, expected one of them", text, url)
	case url != "":
		return url, func() error { return nil }, nil
	}
	service, err := tunnel.ParseService(text)
	if err != nil {
		return "", nil, cli.Usagef("--prometheus-service: %w", err)
	}
	config, _, err := tunnel.Config(c.String("kubeconfig"), c.String("context"))
	if err != nil {
		return "", nil, err
	}
	t, err := tunnel.Open(c.Context, config, service)
	if err != nil {
		return "", nil, err
	}
	return "http://" + t.Addr(), t.Close, nil
}
