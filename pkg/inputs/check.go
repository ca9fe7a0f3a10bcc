package inputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bgbench/pkg/batchfile"
	"bgbench/pkg/jsontext"
	"bgbench/pkg/openai"
	"bgbench/pkg/schedule"
	"bgbench/pkg/spec"
)

// readPrompt reads one line of prompts.jsonl into s.
func (s *Set) readPrompt(line []byte) (field, fault string) {
	if bytes.HasPrefix(line, []byte(`{"system_prompt":`)) {
		return s.readSystemPrompt(line)
	}
	p, ok := decodePrompt(line)
	if !ok {
		if field, fault := decodeLine(line, &p); fault != "" {
			return field, fault
		}
	}
	limit := s.Manifest.Profile.MaxModelLen
	switch {
	case p.Prompt != len(s.Prompts):
		return "prompt", fmt.Sprintf("found %d, expected %d", p.Prompt, len(s.Prompts))
	case p.SystemPrompt != nil && (*p.SystemPrompt < 0 || *p.SystemPrompt >= len(s.Systems)):
		return "system_prompt", fmt.Sprintf("found %d, expected %s", *p.SystemPrompt, indexes(len(s.Systems)))
	case p.After != nil && (*p.After < 0 || *p.After >= p.Prompt):
		return "after", fmt.Sprintf("found %d, expected a prompt before this one, number %d", *p.After, p.Prompt)
	case p.MaxTokens < 1:
		return "max_tokens", fmt.Sprintf("found %d, expected 1 or more", p.MaxTokens)
	case p.PromptTokens < 1:
		return "prompt_tokens", fmt.Sprintf("found %d, expected 1 or more", p.PromptTokens)
	case p.PromptTokens+p.MaxTokens > limit:
		return "max_tokens", fmt.Sprintf("found %d after %d prompt tokens, expected %d at most in all (maxModelLen)", p.MaxTokens, p.PromptTokens, limit)
	}
	s.Prompts = append(s.Prompts, p)
	return "", ""
}

func (s *Set) readSystemPrompt(line []byte) (field, fault string) {
	var p SystemPrompt
	if field, fault := decodeLine(line, &p); fault != "" {
		return field, fault
	}
	if len(s.Prompts) > 0 {
		return "", "found a system prompt, expected all of them before the first prompt"
	}
	if p.SystemPrompt != len(s.Systems) {
		return "system_prompt", fmt.Sprintf("found %d, expected %d", p.SystemPrompt, len(s.Systems))
	}
	s.Systems = append(s.Systems, p.Text)
	return "", ""
}

// scheduleCheck holds a schedule against the profile's phases.
type scheduleCheck struct {
	prompts int
	bands   map[bandKey]schedule.Band
	last    int64
}

type bandKey struct {
	cycle int
	phase string
}

func newScheduleCheck(in spec.Interactive, prompts int) *scheduleCheck {
	c := &scheduleCheck{prompts: prompts, bands: map[bandKey]schedule.Band{}}
	for _, b := range schedule.Bands(in) {
		c.bands[bandKey{b.Cycle, b.Phase}] = b
	}
	return c
}

// readDue reads one line of schedule.jsonl into s.
func (s *Set) readDue(c *scheduleCheck, line []byte) (field, fault string) {
	var before Due
	if n := len(s.Schedule); n > 0 {
		before = s.Schedule[n-1]
	}
	d, ok := decodeDue(line, before)
	if !ok {
		if field, fault := decodeLine(line, &d); fault != "" {
			return field, fault
		}
	}
	if d.I != len(s.Schedule) {
		return "i", fmt.Sprintf("found %d, expected %d", d.I, len(s.Schedule))
	}
	if field, fault := c.check(d); fault != "" {
		return field, fault
	}
	c.last = d.DueNS
	s.Schedule = append(s.Schedule, d)
	return "", ""
}

func (c *scheduleCheck) check(d Due) (field, fault string) {
	switch {
	case d.DueNS < 0:
		return "due_ns", fmt.Sprintf("found %d, expected 0 or more", d.DueNS)
	case d.DueNS < c.last:
		return "due_ns", fmt.Sprintf("found %d after %d, expected due times in order", d.DueNS, c.last)
	case d.InFlight < 0:
		return "in_flight", fmt.Sprintf("found %d, expected 0 or more", d.InFlight)
	case d.Prompt < 0 || d.Prompt >= c.prompts:
		return "prompt", fmt.Sprintf("found %d, expected %s, the prompts of %s", d.Prompt, indexes(c.prompts), PromptsName)
	}
	band, ok := c.bands[bandKey{d.Cycle, d.Phase}]
	switch at := time.Duration(d.DueNS); {
	case !ok:
		return "phase", fmt.Sprintf("found %q in cycle %d, which the profile does not have", d.Phase, d.Cycle)
	case at < band.Start || at >= band.End:
		return "due_ns", fmt.Sprintf("found %d, expected %d up to %d, phase %s of cycle %d", d.DueNS, band.Start, band.End, d.Phase, d.Cycle)
	case d.Class != band.Class:
		return "class", fmt.Sprintf("found %q, expected %s, the class of phase %s", d.Class, band.Class, d.Phase)
	case d.Warmup != band.Warmup:
		return "warmup", fmt.Sprintf("found %t, expected %t in cycle %d", d.Warmup, band.Warmup, d.Cycle)
	}
	return "", ""
}

// checkJobLine checks a line as the batch gateway would before it fails the job, and
// that it is one that this package writes.
func checkJobLine(ids map[string]bool, text []byte) (field, fault string) {
	var l openai.BatchLine
	if field, fault := decodeLine(text, &l); fault != "" {
		return field, fault
	}
	var body openai.ChatRequest
	if field, fault := decodeLine(l.Body, &body); fault != "" {
		return strings.TrimSuffix("body."+field, "."), fault
	}
	read := batchfile.Line{CustomID: l.CustomID, Method: l.Method, URL: l.URL, Model: body.Model, Stream: body.Stream}
	if f, ok := read.Fault(); ok {
		return f.Field, f.Text
	}
	switch {
	case ids[l.CustomID]:
		return "custom_id", fmt.Sprintf("found %q twice in the file", l.CustomID)
	case l.URL != batchfile.Chat:
		return "url", fmt.Sprintf("found %q, expected %s", l.URL, batchfile.Chat)
	case len(body.Messages) == 0:
		return "body.messages", "found none, expected one or more"
	case body.MaxTokens < 1:
		return "body.max_tokens", fmt.Sprintf("found %d, expected 1 or more", body.MaxTokens)
	}
	ids[l.CustomID] = true
	return "", ""
}

// decodeLine decodes one JSON object strictly.
func decodeLine(line []byte, v any) (field, fault string) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		return "", "found more after the JSON object, expected one object a line"
	}
	if err == nil {
		return "", ""
	}
	return jsontext.Field(err)
}

func indexes(n int) string {
	switch n {
	case 0:
		return "none (there are no such lines)"
	case 1:
		return "0"
	}
	return fmt.Sprintf("0 to %d", n-1)
}
