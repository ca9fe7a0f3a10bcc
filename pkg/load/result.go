package load

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bgbench/pkg/openai"
	"bgbench/pkg/printable"
	"bgbench/pkg/record"
)

// Result is what a batch gave for one line of its input.
type Result struct {
	CustomID     string
	RequestID    string
	Status       string // one of record's
	HTTPStatus   int    // 0 without an answer
	Error        string
	FinishReason string
	Usage        *openai.Usage
	OutputSHA256 string
}

// readResults reads an output or error file of a batch. name names it in errors.
func readResults(name string, r io.Reader) ([]Result, error) {
	var results []Result
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			result, parseErr := parseResult(line)
			if parseErr != nil {
				// A processor that is killed leaves a file that is cut in its last line: the
				// lines before it count, and the line itself has no result.
				if err != nil {
					return results, nil
				}
				return nil, fmt.Errorf("%s:%d: %w", name, n, parseErr)
			}
			results = append(results, result)
		}
		if errors.Is(err, io.EOF) {
			return results, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
}

func parseResult(line []byte) (Result, error) {
	if result, ok := scanAnswer(line); ok {
		return result, nil
	}
	return decodeResult(line)
}

func decodeResult(line []byte) (Result, error) {
	var out openai.BatchOutput
	if err := json.Unmarshal(line, &out); err != nil {
		return Result{}, fmt.Errorf("batch output: %w", err)
	}
	result := Result{CustomID: out.CustomID, RequestID: out.ID}
	if r := out.Response; r != nil {
		result.HTTPStatus = r.StatusCode
		if r.RequestID != "" { // as the model server knows it
			result.RequestID = r.RequestID
		}
	}
	switch {
	case out.Error != nil:
		result.Status = statusOfCode(out.Error.Code)
		result.Error = printable.Line(out.Error.Code + ": " + out.Error.Message)
	case out.Response == nil:
		result.Status, result.Error = record.StatusProtocolError, "neither response nor error"
	case out.Response.StatusCode != 200:
		// The processor puts answers other than 200 into the output file, too.
		result.Status = openai.RefusalStatus(out.Response.StatusCode, "")
		var body openai.ErrorBody
		if json.Unmarshal(out.Response.Body, &body) == nil {
			result.Error = printable.Line(body.Error.Message)
		}
	default:
		result.answer(out.Response.Body)
	}
	return result, nil
}

// answer takes the body of a 200.
func (result *Result) answer(body []byte) {
	var c openai.ChatCompletion
	if err := json.Unmarshal(body, &c); err != nil || len(c.Choices) == 0 {
		result.Status, result.Error = record.StatusProtocolError, "the body of the answer is not a chat completion"
		return
	}
	if why := c.Usage.Fault(); why != "" {
		result.Status, result.Error = record.StatusProtocolError, why
		return
	}
	result.Status = record.StatusOK
	result.FinishReason = c.Choices[0].FinishReason
	result.Usage = &c.Usage
	result.OutputSHA256 = hashOf(c.Choices[0].Message.Content)
}

// statusOfCode maps the error codes of the llm-d batch gateway's error file.
func statusOfCode(code string) string {
	switch code {
	case "batch_expired":
		return record.StatusTimeout
	case "batch_cancelled":
		return record.StatusCancelled
	case "PARSE_ERROR":
		return record.StatusProtocolError
	case "SERVER_ERROR":
		return record.StatusTransportError
	case "batch_failed":
		return record.StatusIncomplete
	}
	return record.StatusHTTPError
}

func hashOf[T string | []byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
