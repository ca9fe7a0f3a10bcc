package inputs

import (
	"fmt"
	"path"

	"bgbench/pkg/spec"
)

// Prompt is a line of prompts.jsonl: one interactive request's text. Its system
// prompt stands in a SystemPrompt line further up in the same file.
type Prompt struct {
	Prompt       int  `json:"prompt"`        // 0-based, as schedule.jsonl refers to it
	SystemPrompt *int `json:"system_prompt"` // null without one
	// After is the prompt that this one continues, with Answer to it between them; null
	// for one that begins a conversation.
	After        *int   `json:"after,omitempty"`
	Answer       string `json:"answer,omitempty"` // that of the turn before
	User         string `json:"user"`             // the message
	PromptTokens int    `json:"prompt_tokens"`    // system prompt, history, user message and chat template
	MaxTokens    int    `json:"max_tokens"`       // output tokens that are asked for
}

// SystemPrompt is the other kind of line of prompts.jsonl. All of them come first.
type SystemPrompt struct {
	SystemPrompt int    `json:"system_prompt"` // 0-based
	Text         string `json:"text"`          // the prompt
	Tokens       int    `json:"tokens"`        // its length
}

// Due is a line of schedule.jsonl: one request that is due at an instant.
type Due struct {
	I      int    `json:"i"`      // counted from 0
	DueNS  int64  `json:"due_ns"` // from schedule time 0
	Phase  string `json:"phase"`  // that it belongs to
	Cycle  int    `json:"cycle"`  // 0-based
	Warmup bool   `json:"warmup"` // true in cycles that are not measured
	Class  string `json:"class"`  // interactive or standard
	Prompt int    `json:"prompt"` // line of prompts.jsonl
	// InFlight is above 0 for a request of a closed loop that keeps so many in flight:
	// it leaves when its turn has come, from due_ns to the end of its phase.
	InFlight int `json:"in_flight,omitempty"`
}

// Manifest is inputs.json.
type Manifest struct {
	SchemaVersion int          `json:"schema_version"`  // 1
	Experiment    string       `json:"experiment"`      // its name
	Point         string       `json:"point,omitempty"` // of a sweep over the profile
	Trial         int          `json:"trial"`           // counted from 1
	Seed          int64        `json:"seed"`            // of the trial
	Profile       spec.Profile `json:"profile"`         // resolved
	Files         []File       `json:"files"`           // the other files of the folder
	Lengths       []Lengths    `json:"lengths"`         // what was asked for and what was drawn
	// Numbers are the files that lengths and instants were taken from.
	Numbers []SourceFile `json:"numbers,omitempty"`
	// Sources are the files that texts were taken from, Tokenizer the one by which tokens
	// were counted.
	Sources   []Source   `json:"sources,omitempty"`
	Tokenizer *Tokenizer `json:"tokenizer,omitempty"` // by which tokens were counted; absent without one
}

// Source is a file of texts.
type Source struct {
	Class  string `json:"class"`  // interactive or batch
	File   string `json:"file"`   // as the profile names it
	Bytes  int64  `json:"bytes"`  // its size
	SHA256 string `json:"sha256"` // of its bytes, hexadecimal
	Rows   int    `json:"rows"`   // with a text
	// WithoutText are the other rows of the file.
	WithoutText int `json:"without_text"`
	// LeftOut are the rows whose text is shorter than isl.min or longer than isl.max.
	LeftOut int `json:"left_out"`
	// Dealt is how many conversations were taken. More than Rows less LeftOut means that
	// some were sent twice, and that the prefix cache finds them.
	Dealt int `json:"dealt"`
}

// Repeats reports whether some texts were sent more than once.
func (s Source) Repeats() bool { return s.Dealt > s.Rows-s.LeftOut }

// SourceFile is a file of lengths or instants.
type SourceFile struct {
	File   string `json:"file"`   // as the profile names it
	SHA256 string `json:"sha256"` // of its bytes, hexadecimal
}

// Tokenizer is a tokenizer.json.
type Tokenizer struct {
	File   string `json:"file"`   // as the profile names it
	SHA256 string `json:"sha256"` // of its bytes, hexadecimal
	// Template is where the chat template was found; without one the tokens of ChatML's
	// are added.
	Template string `json:"template,omitempty"`
}

// CacheSalt is the cache_salt of the trial's requests, empty for none. All arms of a
// trial have the same one, because they share the files; a server that outlives a cell
// would let the next one find the prefixes of the last.
func (m Manifest) CacheSalt() string {
	if !m.Profile.Prompt.CacheSalt {
		return ""
	}
	return path.Join(m.Experiment, m.Point, fmt.Sprintf("t%d", m.Trial))
}

// File seals one file of the folder.
type File struct {
	Name   string `json:"name"`   // in the folder
	Lines  int    `json:"lines"`  // how many
	Bytes  int64  `json:"bytes"`  // its size
	SHA256 string `json:"sha256"` // of its bytes, hexadecimal
	// CRC32C is compared first: it finds what a disk or a hand changed in a tenth of the
	// time, which every cell of a trial spends anew (BenchmarkOpen). For a file that it
	// does not fit, and one without it, the other sum decides.
	CRC32C string `json:"crc32c,omitempty"`
}

// Lengths compares what a distribution was asked for with what was drawn.
type Lengths struct {
	Class         string            `json:"class"`           // interactive or batch
	Quantity      string            `json:"quantity"`        // isl or osl
	Requested     spec.Distribution `json:"requested"`       // the distribution that was asked for
	RequestedMean float64           `json:"requested_mean"`  // before lengths are clipped, or texts cut
	RequestedSD   float64           `json:"requested_sd"`    // as requested_mean
	N             int               `json:"n"`               // draws
	Mean          float64           `json:"mean"`            // of the draws
	SD            float64           `json:"sd"`              // of the draws
	Min           int               `json:"min"`             // of the draws
	Max           int               `json:"max"`             // of the draws
	ClippedShare  float64           `json:"clipped_share"`   // cut to [min, max]
	JointCapShare float64           `json:"joint_cap_share"` // shortened so that the request fits maxModelLen
}
