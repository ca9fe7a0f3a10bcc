package conform

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bgbench/pkg/sim/gateway"
)

// withinJob is the order of the lines of a job.
type withinJob struct {
	Name        string `json:"name"`
	PerEndpoint int    `json:"per_endpoint"`
	Note        string `json:"note"`
	FileOrder   []struct {
		CustomID string  `json:"custom_id"`
		System   *string `json:"system"`
		Hash     uint32  `json:"fnv32a"`
	} `json:"file_order"`
	Arrivals      []string `json:"arrival_order"`
	ArrivalHashes []uint32 `json:"arrival_fnv32a"`
	Ascending     bool     `json:"ascending"`
	FileOrderKept bool     `json:"file_order_kept_inside_groups"`
}

func (rec withinJob) check(p place) error {
	if len(rec.FileOrder) == 0 || len(rec.FileOrder) > maxRequests {
		return p.fault("file_order", "found %d lines, expected 1 to %d", len(rec.FileOrder), maxRequests)
	}
	if len(rec.Arrivals) != len(rec.FileOrder) {
		return p.fault("arrival_order", "found %d, expected the %d of file_order", len(rec.Arrivals), len(rec.FileOrder))
	}
	if rec.PerEndpoint < 1 {
		return p.fault("per_endpoint", "found %d, expected 1 or more", rec.PerEndpoint)
	}
	return nil
}

// wordsModels says that a job was for two models.
var wordsModels = regexp.MustCompile(`(?i)two models`)

func (rec withinJob) replay(o *outcome) {
	var input strings.Builder
	hash := map[string]uint32{}
	two := wordsModels.MatchString(rec.Note)
	for _, line := range rec.FileOrder {
		hash[line.CustomID] = line.Hash
		o.want("fnv32a of "+line.CustomID, gateway.PrefixHash(line.System), line.Hash)
		model := "m1"
		if n, err := strconv.Atoi(strings.TrimLeft(line.CustomID, "r")); two && err == nil && n%2 == 0 {
			model = "m2"
		}
		input.WriteString(lineFor(line.CustomID, model, fmt.Sprintf("id=%s;lat=50", line.CustomID), line.System))
	}
	seeds := int64(1)
	if two { // which model comes first is drawn
		seeds = draws * draws
	}
	var got []string
	for seed := range seeds {
		cfg := plainConfig(1, 100, rec.PerEndpoint)
		cfg.Concurrency.Global = max(cfg.Concurrency.Global, rec.PerEndpoint)
		cfg.Seed = seed + 1
		r := newRig(o, cfg, 0)
		r.create(input.String(), "1h", nil)
		r.run(0)
		if got = r.arrivals(); rec.matches(got, hash) {
			return
		}
	}
	o.differ("arrival_order: got %v, want %v", got, rec.Arrivals)
}

// matches compares arrivals. Requests that were in flight together arrived in any
// order: what is left to compare then is the order of the keys.
func (rec withinJob) matches(got []string, hash map[string]uint32) bool {
	want := rec.Arrivals
	if rec.PerEndpoint == 1 {
		return slices.Equal(got, want)
	}
	hashes := func(ids []string) []uint32 {
		list := make([]uint32, len(ids))
		for i, id := range ids {
			list[i] = hash[id]
		}
		return list
	}
	sorted := hashes(want)
	slices.Sort(sorted)
	return slices.Equal(hashes(got), sorted) && slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}
