package load

import (
	"context"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
)

// openHTTP connects to a stack that runs. Its clock starts here.
func (o Options) openHTTP(ctx context.Context) target {
	client := &openai.Client{BaseURL: o.Stack.InferenceURL, HTTP: openai.NewHTTPClient(openai.Dialling{})}
	k := kernel.NewWall()
	t := target{k: k, transport: HTTPTransport{K: k, Client: client}}
	t.close = func() error {
		client.HTTP.CloseIdleConnections()
		return nil
	}
	if o.Stack.BatchURL != "" {
		t.jobs = HTTPJobs{Context: ctx, K: k, Client: &openai.BatchClient{BaseURL: o.Stack.BatchURL}}
	}
	return t
}
