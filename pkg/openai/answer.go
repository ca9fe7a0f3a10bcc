package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"bgbench/pkg/record"
)

// wireAnswer is an answer that does not stream, of either completion API.
type wireAnswer struct {
	Object  string `json:"object"`
	Choices []struct {
		Message      wireDelta `json:"message"`
		Text         string    `json:"text"`
		FinishReason string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *Usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// decodeAnswer reads the body of a 200 that does not stream.
func decodeAnswer(data []byte) Outcome {
	var w wireAnswer
	if err := json.Unmarshal(data, &w); err != nil {
		return Outcome{Status: record.StatusProtocolError, Error: shorten("answer is not the JSON of a completion: " + err.Error())}
	}
	if message, failed := errorIn(data, w.Error, w.Object); failed {
		return Outcome{Status: record.StatusHTTPError, Error: shorten(message)}
	}
	if len(w.Choices) == 0 {
		return Outcome{Status: record.StatusProtocolError, Error: "answer has no choices"}
	}
	out := Outcome{Status: record.StatusOK, FinishReason: w.Choices[0].FinishReason}
	if text := w.Choices[0].Message.Content + w.Choices[0].Text; text != "" {
		sum := sha256.Sum256([]byte(text))
		out.TextSHA256 = hex.EncodeToString(sum[:])
	}
	if why := unfinished(out.FinishReason); why != "" {
		out.Status, out.Error = record.StatusProtocolError, why
	}
	if w.Usage != nil {
		if why := w.Usage.Fault(); why != "" {
			out.Status, out.Error = record.StatusProtocolError, why
			return out
		}
		out.PromptTokens = count(w.Usage.PromptTokens)
		out.OutputTokens = count(w.Usage.CompletionTokens)
		out.TokenSource = record.TokensFromUsage
		if d := w.Usage.PromptTokensDetails; d != nil {
			out.CachedTokens = count(d.CachedTokens)
		}
		if d := w.Usage.CompletionTokensDetails; d != nil {
			out.ReasoningTokens = count(d.ReasoningTokens)
		}
	}
	return out
}

// errorBodyLimit is how much of the body of a refusal is read.
const errorBodyLimit = 64 << 10

// refusalMessage is one line about an answer that is not a success. A redirect says
// so: following it would measure another address than the one that was asked for.
func refusalMessage(resp *http.Response, body []byte) string {
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
		to, _, _ = strings.Cut(to, "?")
		return shorten("redirect to " + to + " refused")
	}
	if !readable(resp.Header) {
		return shorten(compressed(resp.Header))
	}
	return shorten(errorMessage(resp.StatusCode, body))
}

// errorMessage finds the message in the body of a refusal. The router and proxies
// answer with plain text.
func errorMessage(code int, body []byte) string {
	var w struct {
		Object  string          `json:"object"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"` // FastAPI's own refusals
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &w) == nil {
		if message, failed := errorIn(body, w.Error, w.Object); failed {
			return message
		}
		switch {
		case w.Message != "":
			return w.Message
		case len(w.Detail) > 0:
			return string(w.Detail)
		}
	}
	if text := shorten(string(body)); text != "" {
		return text
	}
	return http.StatusText(code)
}

// errorType finds the type in the body of a refusal, "BadRequestError" for one.
func errorType(body []byte) string {
	var w ErrorBody
	if json.Unmarshal(body, &w) != nil {
		return ""
	}
	return w.Error.Type
}
