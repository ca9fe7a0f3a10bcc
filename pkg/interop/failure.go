package interop

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"bgbench/pkg/record"
)

// errorCode finds the status in what clients say of an HTTP error.
var errorCode = regexp.MustCompile(`\b[45]\d\d\b`)

// fail sets the status of a row whose request failed with that text. Tools keep the
// error of the client library at best, so the kind is read out of its words.
func fail(q *record.Request, text string) {
	q.Error = &text
	lower := strings.ToLower(text)
	if code := statusCode(text); code != 0 {
		failWithCode(q, code)
		return
	}
	switch {
	case strings.Contains(lower, "timeout"), strings.Contains(lower, "timed out"):
		q.Status = record.StatusTimeout
	case strings.Contains(lower, "cancel"):
		q.Status = record.StatusCancelled
	case strings.Contains(lower, "connect"), strings.Contains(lower, "disconnect"), strings.Contains(lower, "reset by peer"),
		strings.Contains(lower, "broken pipe"), strings.Contains(lower, "payloaderror"), strings.Contains(lower, "oserror"):
		q.Status = record.StatusTransportError
	case strings.Contains(lower, "json"), strings.Contains(lower, "decode"), strings.Contains(lower, "parse"):
		q.Status = record.StatusProtocolError
	default:
		q.Status = record.StatusHTTPError
	}
}

func failWithCode(q *record.Request, code int) {
	status := int32(code)
	q.HTTPStatus, q.Status = &status, record.StatusHTTPError
	if code == http.StatusTooManyRequests {
		q.Status = record.StatusRateLimited
	}
}

// statusCode of an error text, by its number or by the reason phrase alone, which is
// what vLLM keeps; 0 if there is none.
func statusCode(text string) int {
	if found := errorCode.FindString(text); found != "" && len(text) < 1000 { // a traceback has line numbers
		code, _ := strconv.Atoi(found)
		return code
	}
	for code := 400; code < 600; code++ {
		if reason := http.StatusText(code); reason != "" && strings.EqualFold(strings.TrimSpace(text), reason) {
			return code
		}
	}
	return 0
}
