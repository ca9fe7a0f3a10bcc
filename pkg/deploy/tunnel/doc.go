// Package tunnel forwards ports of loopback to pods behind Services of a cluster, for
// tools that run outside it. A tunnel lives longer than its connection: when the API
// server or the pod goes away, the next connection to the port looks for a pod again.
//
//	service, err := tunnel.ParseService("monitoring/prometheus:9090")
//	config, _, err := tunnel.Config("", "")
//	t, err := tunnel.Open(ctx, config, service)
//	defer t.Close()
//	http.Get("http://" + t.Addr())
//
// It knows nothing of stacks; pkg/deploy/kube and cmd/bg-scrape open tunnels.
package tunnel
