package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unsafe"

	"bgbench/pkg/inputs"
	"bgbench/pkg/jsontext"
	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/spec"
)

// Work is the batch work of a cell as its arm wants it: the ids of every job's lines,
// or the lines themselves where a backlog sends them.
type Work struct {
	jobs    []*jobLines
	backlog []backlogLine
}

// ReadWork reads the job files of set for arm.
func ReadWork(set *inputs.Set, arm spec.Arm) (Work, error) { return new(jobFiles).work(set, arm) }

// jobFiles are the job files of one set of inputs, as far as arms wanted them: each is
// read once for all arms of a kind. Nobody changes what was read.
type jobFiles struct {
	ids     map[string]*jobLines // by the name of the job
	backlog map[string][]backlogLine
}

// work returns what arm wants of set, the same one in each call.
func (f *jobFiles) work(set *inputs.Set, arm spec.Arm) (Work, error) {
	var work Work
	for _, file := range set.Jobs {
		switch arm.Dispatch {
		case spec.DispatchNone:
		case spec.DispatchBacklog:
			lines, err := readOnce(&f.backlog, file, readBacklog)
			if err != nil {
				return Work{}, err
			}
			work.backlog = append(work.backlog, lines...)
		case spec.DispatchSync, spec.DispatchAsync:
			lines, err := readOnce(&f.ids, file, readCustomIDs)
			if err != nil {
				return Work{}, err
			}
			work.jobs = append(work.jobs, lines)
		default:
			return Work{}, fmt.Errorf("arm %s: dispatch: found %q, expected none, backlog, sync or async", arm.Name, arm.Dispatch)
		}
	}
	if len(work.backlog) > 0 && arm.Backlog.Concurrency < 1 && arm.Backlog.Rate <= 0 {
		return Work{}, fmt.Errorf("arm %s: backlog: found neither a concurrency nor a rate above 0, expected one of them", arm.Name)
	}
	return work, nil
}

// readOnce returns what read makes of file, which known remembers.
func readOnce[T any](known *map[string]T, file inputs.JobFile, read func(inputs.JobFile) (T, error)) (T, error) {
	if lines, ok := (*known)[file.Name]; ok {
		return lines, nil
	}
	lines, err := read(file)
	if err == nil {
		if *known == nil {
			*known = map[string]T{}
		}
		(*known)[file.Name] = lines
	}
	return lines, err
}

// jobLines is what a watch keeps of a job's file: enough to name each line.
type jobLines struct {
	file      inputs.JobFile
	ids       []string
	maxTokens []int64
	index     map[string]int
}

// readCustomIDs reads the ids of a job file, not its texts.
func readCustomIDs(file inputs.JobFile) (*jobLines, error) {
	lines := &jobLines{file: file, index: make(map[string]int, file.Requests)}
	err := eachLine(file, func(i int, line []byte) error {
		id, maxTokens, ok := scanHead(line)
		if !ok {
			var err error
			if id, maxTokens, err = decodeHead(line); err != nil {
				return err
			}
		}
		if _, twice := lines.index[id]; twice {
			return fmt.Errorf("custom_id: %q is on an earlier line, too", id)
		}
		lines.ids = append(lines.ids, id)
		lines.maxTokens = append(lines.maxTokens, maxTokens)
		lines.index[id] = i
		return nil
	})
	return lines, err
}

// decodeHead reads what a watch needs of a line.
func decodeHead(line []byte) (id string, maxTokens int64, err error) {
	var head struct {
		CustomID string `json:"custom_id"`
		Body     struct {
			MaxTokens int64 `json:"max_tokens"`
		} `json:"body"`
	}
	err = json.Unmarshal(line, &head)
	if err != nil {
		return "", 0, jsontext.Line(err)
	}
	return head.CustomID, head.Body.MaxTokens, nil
}

// scanHead does what decodeHead does for a line as bg-gen writes it, with max_tokens
// once and after the texts, and leaves any other line alone. The texts are three
// quarters of all that a run on target model reads, and this way nobody looks at
// them (BenchmarkReadWork).
func scanHead(line []byte) (id string, maxTokens int64, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"custom_id":"`))
	if !ok {
		return "", 0, false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 1 || !plainID(rest[:end]) {
		return "", 0, false
	}
	id = string(rest[:end])
	// Inside of a string the quotes of the key would be escaped.
	const key = `"max_tokens":`
	at := bytes.LastIndex(rest, []byte(key))
	if at < 0 || len(rest)-at > 64 || !bytes.HasSuffix(bytes.TrimSpace(rest), []byte("}}")) {
		return "", 0, false
	}
	for _, c := range rest[at+len(key):] {
		if c < '0' || c > '9' {
			ok = c == ',' || c == '}'
			break
		}
		maxTokens = 10*maxTokens + int64(c-'0')
	}
	return id, maxTokens, ok && maxTokens > 0
}

// plainID reports whether an id is its own JSON: printable ASCII without escapes.
func plainID(id []byte) bool {
	for _, c := range id {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// readBacklog reads the requests of a job file, to be sent as streaming ones.
func readBacklog(file inputs.JobFile) ([]backlogLine, error) {
	lines := make([]backlogLine, 0, file.Requests)
	err := eachLine(file, func(i int, line []byte) error {
		// The texts are parts of the file, which stays in memory (BenchmarkReadBacklog).
		id, chat, ok := gateway.ScanLine(unsafe.String(unsafe.SliceData(line), len(line)))
		if !ok {
			var err error
			if id, chat, err = decodeLine(line); err != nil {
				return err
			}
		}
		chat.Stream, chat.StreamOptions = true, streamOptions()
		lines = append(lines, backlogLine{job: file, index: i, customID: id, chat: chat})
		return nil
	})
	return lines, err
}

func decodeLine(line []byte) (customID string, _ *openai.ChatRequest, _ error) {
	var in openai.BatchLine
	if err := json.Unmarshal(line, &in); err != nil {
		return "", nil, jsontext.Line(err)
	}
	chat := new(openai.ChatRequest)
	if err := json.Unmarshal(in.Body, chat); err != nil {
		return "", nil, fmt.Errorf("body: %w", jsontext.Line(err))
	}
	return in.CustomID, chat, nil
}

// eachLine calls line for each line of a job's file, counted from 0.
func eachLine(file inputs.JobFile, line func(i int, line []byte) error) error {
	content, err := file.Content()
	if err != nil {
		return fmt.Errorf("job %s: %w", file.Name, err)
	}
	for i := 0; len(content) > 0; i++ {
		text, rest, _ := bytes.Cut(content, []byte("\n"))
		content = rest
		if err := line(i, bytes.TrimSuffix(text, []byte("\r"))); err != nil {
			return fmt.Errorf("%s:%d: %w", file.Path, i+1, err)
		}
	}
	return nil
}
