package conform

import (
	"slices"
	"strings"

	"bgbench/pkg/openai"
)

// lineURL is where a line's url led.
type lineURL struct {
	Endpoint string               `json:"batch_endpoint"`
	LineURL  string               `json:"line_url"`
	Upstream []string             `json:"upstream_path"`
	Status   string               `json:"status"`
	Counts   openai.RequestCounts `json:"request_counts"`
}

func (rec lineURL) check(p place) error {
	if rec.Endpoint != chatPath {
		return p.fault("batch_endpoint", "found %q, expected %s", rec.Endpoint, chatPath)
	}
	return nil
}

func (rec lineURL) replay(o *outcome) {
	r := newRig(o, plainConfig(1, 100, 1), 0)
	r.create(strings.Replace(lineFor("a", "m1", "id=a", nil), chatPath, rec.LineURL, 1), "1h", nil)
	r.run(0)
	var paths []string
	for _, row := range r.backend.Log {
		path := row.Call.Path
		if path == "" {
			path = chatPath
		}
		paths = append(paths, path)
	}
	if !slices.Equal(paths, rec.Upstream) {
		o.differ("upstream_path: got %v, want %v", paths, rec.Upstream)
	}
	o.want("status", r.job(0).Status, rec.Status)
	o.want("counts", r.job(0).RequestCounts, rec.Counts)
}
