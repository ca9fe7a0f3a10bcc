package gateway

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"bgbench/pkg/openai"
)

// noPrefix sorts lines without a system prompt behind all others.
const noPrefix = math.MaxUint32

// systemPrompt is the first system message that is not empty.
func systemPrompt(messages []openai.Message) string {
	for _, m := range messages {
		if m.Role == "system" && m.Content != "" {
			return m.Content
		}
	}
	return ""
}

// PrefixHash is the key of a line with this system prompt, nil for none.
func PrefixHash(system *string) uint32 {
	if system == nil {
		return noPrefix
	}
	return prefixHash(*system)
}

// prefixHash is the key by which lines are ordered: the FNV-1a hash (32 bits) of
// the system prompt.
func prefixHash(system string) uint32 {
	if system == "" {
		return noPrefix
	}
	h := uint32(2166136261)
	for i := range len(system) {
		h = (h ^ uint32(system[i])) * 16777619
	}
	return h
}

// planEntry is one line in the order in which it will be sent.
type planEntry struct {
	text   string
	line   line
	prefix uint32
}

// plan is a job's input after ingestion.
type plan struct {
	entries  []planEntry // in the order of dispatch
	rejected []line      // their model is in no gateway
	lines    int
}

// ingest validates every line of content and orders them: model after model, inside
// a model by the hash of the system prompt.
func ingest(content string, known func(model string) bool, random *rand.Rand) (plan, error) {
	p := plan{}
	seen := map[string]struct{}{}
	byModel := map[string][]planEntry{}
	prefixes := prefixes{}
	for len(content) > 0 {
		text, rest, _ := strings.Cut(content, "\n")
		content = rest
		p.lines++
		l, err := parseLine(text)
		if err != nil {
			return plan{}, fmt.Errorf("validate request at line %d: %w", p.lines, err)
		}
		if _, twice := seen[l.customID]; twice {
			return plan{}, fmt.Errorf("line %d: duplicate custom_id %q", p.lines, l.customID)
		}
		seen[l.customID] = struct{}{}
		if !known(l.model) {
			p.rejected = append(p.rejected, l)
			continue
		}
		byModel[l.model] = append(byModel[l.model], planEntry{text, l, prefixes.share(&l)})
	}
	for _, model := range modelOrder(byModel, random) {
		entries := byModel[model]
		// sort.Slice and not slices.SortStableFunc: the order among equal keys is
		// whatever upstream's call of the same function makes of it.
		sort.Slice(entries, func(i, j int) bool { return entries[i].prefix < entries[j].prefix })
		p.entries = append(p.entries, entries...)
	}
	return p, nil
}

// prefixes are the system prompts of a job. Its lines share a few long ones, and both
// their hash and their tokens take a byte at a time (see BenchmarkGateway).
type prefixes map[string]knownPrefix

type knownPrefix struct {
	text string
	hash uint32
}

// share has l use the memory of the first line with its system prompt, by which the
// tokenizer knows it again at once, and returns the key of l.
func (p prefixes) share(l *line) uint32 {
	known, ok := p[l.system]
	if !ok {
		known = knownPrefix{l.system, prefixHash(l.system)}
		p[l.system] = known
	}
	if l.body != nil {
		for i, m := range l.body.Messages {
			if m.Role == "system" && m.Content == l.system {
				l.body.Messages[i].Content = known.text
			}
		}
	}
	l.system = known.text
	return known.hash
}

// modelOrder is the order in which a job's models are fed. Upstream ranges over a
// small Go map that was filled in the order of the names: iteration starts at a
// random one of the eight slots and wraps around, so with two models the first
// comes first seven times out of eight.
func modelOrder(byModel map[string][]planEntry, random *rand.Rand) []string {
	models := make([]string, 0, len(byModel))
	for m := range byModel {
		models = append(models, m)
	}
	slices.Sort(models)
	if len(models) < 2 {
		return models
	}
	start := random.IntN(max(mapSlots, len(models)))
	if start >= len(models) {
		start = 0
	}
	return append(models[start:], models[:start]...)
}

// mapSlots is the size of a group in Go's maps.
const mapSlots = 8
