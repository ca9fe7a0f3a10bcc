//go:build kube

package kube

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/analysis"
	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
)

func TestShardsPlayACellFromSeveralPods(t *testing.T) {
	t.Parallel()
	c := account(t)
	cell := cellFor(t, "s2-ungated", asked{namespace: "shards"})
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 10*time.Minute)
	stack, err := c.Start(ctx, cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	out := play(t, ctx, c, cell, stack, playing{shards: 2})
	for _, name := range []string{"load-1.log", "load-2.log", "metrics.parquet", "shard-1-of-2/requests.parquet", "shard-2-of-2/requests.parquet"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	summary, err := analysis.ReadCell(ctx, out)
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for _, dir := range []string{"shard-1-of-2", "shard-2-of-2"} {
		eachRow(t, filepath.Join(out, dir, "requests.parquet"), func(row record.Request) {
			if row.Class == record.ClassInteractive {
				requests++
			}
		})
	}
	if requests != 23 || len(summary.Jobs) != 1 || summary.Jobs[0].Status != "completed" {
		t.Errorf("found %d interactive requests and jobs %+v, expected 23 and one that is completed", requests, summary.Jobs)
	}
}

func TestAToolOutsideTheClusterReachesAStackWhosePodsAreReplaced(t *testing.T) {
	t.Parallel()
	root, c := admin(t), account(t)
	cell := cellFor(t, "s4-flow-control-aimd", asked{namespace: "outside"})
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 10*time.Minute)
	stack, err := c.Start(ctx, cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	outside, end, err := c.Outside(ctx, stack)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if len(outside.Metrics) != len(stack.Metrics) || !strings.HasPrefix(outside.InferenceURL, "http://127.0.0.1:") {
		t.Errorf("found %s and %d pages, expected loopback and %d", outside.InferenceURL, len(outside.Metrics), len(stack.Metrics))
	}
	answers(t, ctx, outside)
	// The router's pod is replaced: the way to the Service leads to the new one.
	if err := killOne(ctx, root, cell.Namespace, "inferencepool="+routerName); err != nil {
		t.Fatal(err)
	}
	steps, err := cell.Steps()
	if err == nil {
		steps, err = cell.expand(ctx, steps, c.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if err := c.awaitReady(ctx, io.Discard, s.Name, s.Objects); err != nil {
			t.Fatal(err)
		}
	}
	outside.Metrics = nil // those of the pod have gone with it
	answers(t, ctx, outside)
}

// answers waits until every address of a stack does.
func answers(t *testing.T, ctx context.Context, stack deploy.Stack) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	err := await(ctx, io.Discard, "answers through the tunnels", func(ctx context.Context) (string, error) {
		for _, health := range stack.Check(ctx, client) {
			if health.Err != nil {
				return health.Name + ": " + health.Err.Error(), errNotYet
			}
		}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
