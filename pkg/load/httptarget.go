package load

import (
	"context"

	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// openHTTP connects to a stack that runs. Its clock starts here.
func (o Options) openHTTP(ctx context.Context, c clients) target {
	k := kernel.NewWall()
	t := target{k: k, transport: newHTTPTransport(k, c.inference), dialled: c.dialled.Load}
	t.close = func() error {
		c.close()
		return nil
	}
	if o.Shard.Count > 0 {
		t.clock = func() *record.ClockOffset { return clockOffset(ctx, c.batch, o.Stack.InferenceURL) }
	}
	if o.Stack.BatchURL != "" {
		t.jobs = HTTPJobs{Context: ctx, K: k, Client: c.batch}
	}
	return t
}
