package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
)

// result is what becomes of one line: a response for the output file or an error
// for the error file.
type result struct {
	hasResponse bool
	status      int
	body        []byte      // JSON
	completion  *completion // stands for the body
	code        string      // of the error
	message     string
	usage       *openai.Usage // of an answer that has one
}

// Codes of errors. Those of the processor's own are lower case, those of its HTTP
// client upper case.
const (
	codeExpired       = "batch_expired"
	codeCancelled     = "batch_cancelled"
	codeModelNotFound = "model_not_found"
	codeParse         = "PARSE_ERROR"
	codeServer        = "SERVER_ERROR"
)

// errorMessage is the text of a code that has one text only.
func errorMessage(code string) string {
	switch code {
	case codeExpired:
		return "This request could not be executed before the completion window expired."
	case codeCancelled:
		return "This request was not executed because the batch was cancelled."
	}
	return ""
}

func failure(code, message string) result { return result{code: code, message: message} }

func (r result) succeeded() bool { return r.hasResponse && r.status == http.StatusOK }

// resultOf turns the last answer to a request into its line.
func resultOf(call *sim.Call, end sim.End, url string, created int64) result {
	switch {
	case end.Status == sim.StatusNoAnswer:
		return failure(codeServer, fmt.Sprintf("failed to execute request: Post %q: %s", url, end.Message))
	case end.Status != http.StatusOK && end.DroppedReason == droppedTTLExpired:
		return failure(codeExpired, errorMessage(codeExpired))
	case end.Status != http.StatusOK:
		return result{hasResponse: true, status: end.Status, body: refusalBody(end)}
	case end.Body != nil:
		return answerOf(end.Body)
	}
	usage := sim.WireUsage(end.Usage)
	return result{hasResponse: true, status: http.StatusOK, completion: &completion{call, end, created}, usage: &usage}
}

// answerOf reads a 200 as the processor does: into a map, so that it is written
// again with its keys sorted.
func answerOf(raw []byte) result {
	var body map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &body); err != nil {
			return failure(codeParse, fmt.Sprintf("response body could not be parsed: %s", err))
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return failure(codeParse, fmt.Sprintf("response body could not be parsed: %s", err))
	}
	r := result{hasResponse: true, status: http.StatusOK, body: text}
	if usage, ok := body["usage"].(map[string]any); ok {
		prompt, okPrompt := usage["prompt_tokens"].(float64)
		completion, okCompletion := usage["completion_tokens"].(float64)
		if okPrompt && okCompletion {
			r.usage = &openai.Usage{PromptTokens: int(prompt), CompletionTokens: int(completion)}
		}
	}
	return r
}

// refusalBody is the body of an answer that is not 200, its keys sorted; what is no
// JSON object is wrapped in one.
func refusalBody(end sim.End) []byte {
	var raw any = sortError(sim.ErrorBody(end).Error)
	if end.Body != nil {
		object := map[string]any{}
		if len(end.Body) > 0 && json.Unmarshal(end.Body, &object) != nil {
			object = map[string]any{"error": map[string]any{
				"message": string(end.Body), "type": refusalType(end.Status),
			}}
		}
		raw = object
	}
	text, err := json.Marshal(raw)
	if err != nil { // a code that JSON has no form for
		return []byte("{}")
	}
	return text
}

func refusalType(status int) string {
	switch {
	case status == http.StatusBadRequest:
		return "invalid_request_error"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "authentication_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "unknown_error"
}

// sortedError is an error of pkg/openai with its keys in the order of the alphabet.
type sortedError struct {
	Error struct {
		Code    any     `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
		Type    string  `json:"type"`
	} `json:"error"`
}

func sortError(e openai.Error) (s sortedError) {
	s.Error.Code, s.Error.Message, s.Error.Param, s.Error.Type = e.Code, e.Message, e.Param, e.Type
	return s
}

// append appends r as a line of its file.
func (r result) append(dst []byte, id, customID string) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","custom_id":`...)
	dst = appendString(dst, customID)
	if !r.hasResponse {
		dst = append(dst, `,"response":null,"error":{"code":`...)
		dst = appendString(dst, r.code)
		dst = append(dst, `,"message":`...)
		dst = appendString(dst, r.message)
		return append(dst, "}}\n"...)
	}
	dst = append(dst, `,"response":{"status_code":`...)
	dst = strconv.AppendInt(dst, int64(r.status), 10)
	dst = append(dst, `,"request_id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","body":`...)
	dst = r.appendBody(dst)
	return append(dst, "},\"error\":null}\n"...)
}

// room is how many bytes append may need, and more than it mostly does.
func (r result) room(id, customID string) int {
	n := 2*len(id) + len(customID) + len(r.message) + len(r.body) + 512
	if r.completion != nil {
		n += r.completion.room()
	}
	return n
}

func (r result) appendBody(dst []byte) []byte {
	if r.completion != nil {
		return r.completion.append(dst)
	}
	return append(dst, r.body...)
}

// appendString appends s as encoding/json does, HTML characters escaped.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b >= utf8.RuneSelf || b == '"' || b == '\\' || b == '<' || b == '>' || b == '&' {
			text, err := json.Marshal(s)
			if err != nil { // a string always has a JSON form
				panic(err)
			}
			return append(dst, text...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
