package spec

import "strings"

// Source is a file of texts, in place of those that are generated.
type Source struct {
	// Type is the form of the file.
	Type string `yaml:"type" json:"type"` // sharegpt, mmlu, parquet or jsonl
	// File is found from the folder where bg-gen runs.
	File string `yaml:"file" json:"file"`
	// Field leads to the text in a row of parquet or jsonl, as question or
	// messages.0.content do. It may also lead to a list of turns.
	Field string `yaml:"field,omitempty" json:"field,omitempty"`
	// Answer leads to the answer in such a row. With it, an answer is asked for that is as
	// long as that one, in place of one of osl; sharegpt has answers of its own.
	Answer string `yaml:"answer,omitempty" json:"answer,omitempty"`
	// DrawnAnswers draws the length of answers from osl although the file has some.
	DrawnAnswers bool `yaml:"drawnAnswers,omitempty" json:"drawnAnswers,omitempty"`
}

// Conversation has requests follow one another: each has those before it, and the
// answers, as its history.
type Conversation struct {
	// Turns is how many requests a conversation has at most: as many, or from MinTurns to
	// Turns where that is given, each number equally likely. It ends earlier where the
	// context is full, or the source has no more.
	Turns    int `yaml:"turns" json:"turns" unit:"requests"`
	MinTurns int `yaml:"minTurns,omitempty" json:"minTurns,omitempty" unit:"requests"` // the fewest turns of a conversation; 0 for always Turns
	// Open conversations take turns: the second turn of one comes as many requests after
	// its first. A job has as many of its own.
	Open int `yaml:"open" json:"open"`
	// Context is how many tokens stand before the first question of a conversation and
	// nowhere else: a document, or a system prompt of its own.
	Context int `yaml:"context,omitempty" json:"context,omitempty" unit:"tokens"`
}

func (c *Conversation) problems(is *problems, path string) {
	if c == nil {
		return
	}
	is.check(c.Turns >= 1, join(path, "turns"), "found %d, expected 1 or more", c.Turns)
	is.check(c.MinTurns >= 0 && c.MinTurns <= c.Turns, join(path, "minTurns"), "found %d, expected 0 to turns %d", c.MinTurns, c.Turns)
	is.check(c.Open >= 1, join(path, "open"), "found %d, expected 1 or more", c.Open)
	is.check(c.Context >= 0, join(path, "context"), "found %d, expected 0 or more", c.Context)
}

// Types of a Source.
const (
	// ShareGPT is a list of objects whose conversations have turns of from (human, gpt)
	// and value.
	ShareGPT = "sharegpt"
	// MMLU is CSV of question, four choices and the answer.
	MMLU = "mmlu"
	// Parquet is a file of a Hugging Face data set.
	Parquet = "parquet"
	// JSONLines has an object a line.
	JSONLines = "jsonl"
)

func (s *Source) problems(is *problems, path string) {
	if s == nil {
		return
	}
	is.oneOf(join(path, "type"), s.Type, ShareGPT, MMLU, Parquet, JSONLines)
	is.check(strings.TrimSpace(s.File) != "", join(path, "file"), "found nothing, expected the name of a file")
	rows := s.Type == Parquet || s.Type == JSONLines
	is.check(!rows || s.Field != "", join(path, "field"), "found nothing, expected the way to the text in a row, such as question or messages.0.content")
	is.check(rows || s.Field == "", join(path, "field"), "found %q, expected none: %s says where its texts stand", s.Field, s.Type)
	is.check(rows || s.Answer == "", join(path, "answer"), "found %q, expected none: %s says where its texts stand", s.Answer, s.Type)
}
