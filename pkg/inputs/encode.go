package inputs

import (
	"encoding/json"
	"strconv"

	"bgbench/pkg/openai"
)

// The encoders below write lines as encoding/json would, but for HTML escapes,
// without its reflection: a trial is some hundred megabytes of text
// (BenchmarkAppendPrompt).

// AppendSystemPrompt appends s as a line of prompts.jsonl.
func AppendSystemPrompt(dst []byte, s SystemPrompt) []byte {
	dst = append(dst, `{"system_prompt":`...)
	dst = strconv.AppendInt(dst, int64(s.SystemPrompt), 10)
	dst = append(dst, `,"text":`...)
	dst = AppendString(dst, s.Text)
	dst = append(dst, `,"tokens":`...)
	dst = strconv.AppendInt(dst, int64(s.Tokens), 10)
	return append(dst, "}\n"...)
}

// AppendPrompt appends p as a line of prompts.jsonl.
func AppendPrompt(dst []byte, p Prompt) []byte {
	dst = append(dst, `{"prompt":`...)
	dst = strconv.AppendInt(dst, int64(p.Prompt), 10)
	dst = append(dst, `,"system_prompt":`...)
	if p.SystemPrompt == nil {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(*p.SystemPrompt), 10)
	}
	if p.After != nil {
		dst = append(dst, `,"after":`...)
		dst = strconv.AppendInt(dst, int64(*p.After), 10)
		dst = append(dst, `,"answer":`...)
		dst = AppendString(dst, p.Answer)
	}
	dst = append(dst, `,"user":`...)
	dst = AppendString(dst, p.User)
	dst = append(dst, `,"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(p.PromptTokens), 10)
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(p.MaxTokens), 10)
	return append(dst, "}\n"...)
}

// AppendDue appends d as a line of schedule.jsonl.
func AppendDue(dst []byte, d Due) []byte {
	dst = append(dst, `{"i":`...)
	dst = strconv.AppendInt(dst, int64(d.I), 10)
	dst = append(dst, `,"due_ns":`...)
	dst = strconv.AppendInt(dst, d.DueNS, 10)
	dst = append(dst, `,"phase":`...)
	dst = AppendString(dst, d.Phase)
	dst = append(dst, `,"cycle":`...)
	dst = strconv.AppendInt(dst, int64(d.Cycle), 10)
	dst = append(dst, `,"warmup":`...)
	dst = strconv.AppendBool(dst, d.Warmup)
	dst = append(dst, `,"class":`...)
	dst = AppendString(dst, d.Class)
	dst = append(dst, `,"prompt":`...)
	dst = strconv.AppendInt(dst, int64(d.Prompt), 10)
	if d.InFlight != 0 {
		dst = append(dst, `,"in_flight":`...)
		dst = strconv.AppendInt(dst, int64(d.InFlight), 10)
	}
	return append(dst, "}\n"...)
}

// JobLine is what a line of a job file asks for.
type JobLine struct {
	CustomID  string
	Model     string
	System    string           // left out where empty
	History   []openai.Message // the turns before
	User      string
	MaxTokens int
	IgnoreEOS bool
	MinTokens bool   // asks for MaxTokens at least
	CacheSalt string // left out where empty
}

// AppendJobLine appends l as a line of an OpenAI Batch input file.
func AppendJobLine(dst []byte, l JobLine) []byte {
	dst = append(dst, `{"custom_id":`...)
	dst = AppendString(dst, l.CustomID)
	dst = append(dst, `,"method":"POST","url":"/v1/chat/completions","body":{"model":`...)
	dst = AppendString(dst, l.Model)
	dst = append(dst, `,"messages":[`...)
	if l.System != "" {
		dst = append(dst, `{"role":"system","content":`...)
		dst = AppendString(dst, l.System)
		dst = append(dst, "},"...)
	}
	for _, m := range l.History {
		dst = append(dst, `{"role":`...)
		dst = AppendString(dst, m.Role)
		dst = append(dst, `,"content":`...)
		dst = AppendString(dst, m.Content)
		dst = append(dst, "},"...)
	}
	dst = append(dst, `{"role":"user","content":`...)
	dst = AppendString(dst, l.User)
	dst = append(dst, `}]`...)
	if l.CacheSalt != "" {
		dst = append(dst, `,"cache_salt":`...)
		dst = AppendString(dst, l.CacheSalt)
	}
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(l.MaxTokens), 10)
	if l.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	if l.MinTokens {
		dst = append(dst, `,"min_tokens":`...)
		dst = strconv.AppendInt(dst, int64(l.MaxTokens), 10)
	}
	return append(dst, "}}\n"...)
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	if !plain(s) {
		quoted, err := json.Marshal(s)
		if err != nil {
			panic(err) // a string always has an encoding
		}
		return append(dst, quoted...)
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// plain reports whether s needs no escape in JSON.
func plain(s string) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	// Eight bytes at a time (BenchmarkOpen). A byte below n has its high bit set in
	// w-ones*n, as has a zero in w-ones; the first byte that has it is certain to be
	// one, the others are not, but one is enough to look closer.
	for ; len(s) >= 8; s = s[8:] {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		quote, backslash, del := w^ones*'"', w^ones*'\\', w^ones*0x7f
		if (w|(w-ones*' ')|(quote-ones)|(backslash-ones)|(del-ones))&highs != 0 {
			break
		}
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
