package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/spec"
)

// Work is the batch work of a cell as its arm wants it: the ids of every job's lines,
// or the lines themselves where a backlog sends them.
type Work struct {
	jobs    []*jobLines
	backlog []backlogLine
}

// ReadWork reads the job files of set for arm.
func ReadWork(set *inputs.Set, arm spec.Arm) (Work, error) {
	var work Work
	for _, file := range set.Jobs {
		switch arm.Dispatch {
		case spec.DispatchNone:
		case spec.DispatchBacklog:
			lines, err := readBacklog(file)
			if err != nil {
				return Work{}, err
			}
			work.backlog = append(work.backlog, lines...)
		case spec.DispatchSync, spec.DispatchAsync:
			lines, err := readCustomIDs(file)
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
		var head struct {
			CustomID string `json:"custom_id"`
			Body     struct {
				MaxTokens int64 `json:"max_tokens"`
			} `json:"body"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return err
		}
		if _, twice := lines.index[head.CustomID]; twice {
			return fmt.Errorf("custom_id: %q is on an earlier line, too", head.CustomID)
		}
		lines.ids = append(lines.ids, head.CustomID)
		lines.maxTokens = append(lines.maxTokens, head.Body.MaxTokens)
		lines.index[head.CustomID] = i
		return nil
	})
	return lines, err
}

// readBacklog reads the requests of a job file, to be sent as streaming ones.
func readBacklog(file inputs.JobFile) ([]backlogLine, error) {
	lines := make([]backlogLine, 0, file.Requests)
	err := eachLine(file, func(i int, line []byte) error {
		var in openai.BatchLine
		if err := json.Unmarshal(line, &in); err != nil {
			return err
		}
		chat := new(openai.ChatRequest)
		if err := json.Unmarshal(in.Body, chat); err != nil {
			return fmt.Errorf("body: %w", err)
		}
		chat.Stream, chat.StreamOptions = true, streamOptions()
		lines = append(lines, backlogLine{job: file, index: i, customID: in.CustomID, chat: chat})
		return nil
	})
	return lines, err
}

// eachLine calls line for each line of a job's file, counted from 0.
func eachLine(file inputs.JobFile, line func(i int, line []byte) error) error {
	f, err := os.Open(file.Path)
	if err != nil {
		return fmt.Errorf("job %s: %w", file.Name, err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	for i := 0; ; i++ {
		text, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			if err := line(i, text); err != nil {
				return fmt.Errorf("%s:%d: %w", file.Path, i+1, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", file.Path, err)
		}
	}
}
