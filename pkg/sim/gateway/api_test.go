package gateway

import (
	"encoding/json"
	"fmt"
	"testing"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

func testGateway() *Gateway {
	cfg := Config{}
	cfg.Quirks = spec.ObservedQuirks()
	cfg.Concurrency = spec.Concurrency{Global: 1, PerEndpoint: 1}
	return New(kernel.NewVirtual(), cfg, nil)
}

func TestACreationIsReadUpToTheEndOfItsFirstValue(t *testing.T) {
	g := testGateway()
	f, apiErr := g.Upload(DefaultTenant, Upload{Purpose: "batch", Content: []byte("{}\n")})
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	for name, c := range map[string]struct{ before, window, after, want string }{
		"text after it":         {"", "1h", ` and then some`, ""},
		"another value":         {"", "1h", `{"priority": 1}`, ""},
		"an unknown key in it":  {`"priority": 1, `, "1h", "", `400: json: unknown field "priority"`},
		"a window of one day":   {"", "1d", "", "400: completion_window must be a valid duration (e.g., 24h)"},
		"a window of no length": {"", "0s", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf(`{%s"input_file_id": %q, "endpoint": "/v1/chat/completions", "completion_window": %q}%s`, c.before, f.ID, c.window, c.after)
			got := ""
			if _, apiErr := g.CreateBatch(DefaultTenant, []byte(body), nil); apiErr != nil {
				got = apiErr.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnEmptyListNamesNoFirstEntry(t *testing.T) {
	g := testGateway()
	files, apiErr := g.Files(DefaultTenant, ListQuery{})
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	batches, apiErr := g.Batches(DefaultTenant, ListQuery{})
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	for want, list := range map[string]any{
		`{"object":"list","data":[],"first_id":"","last_id":"","has_more":false}`:     files,
		`{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`: batches,
	} {
		got, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
