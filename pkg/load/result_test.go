package load

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"bgbench/pkg/record"
)

// Lines as the llm-d batch gateway writes them (recorded from its processor at
// commit b7ff6a2, 2026-08-20; bodies shortened).
const (
	lineOK       = `{"id":"batch_req_1","custom_id":"a","response":{"status_code":200,"request_id":"r1","body":{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4}}}},"error":null}`
	line429      = `{"id":"batch_req_2","custom_id":"b","response":{"status_code":429,"request_id":"r2","body":{"error":{"message":"slow down","type":"rate_limit","param":null,"code":429}}},"error":null}`
	line500      = `{"id":"batch_req_3","custom_id":"c","response":{"status_code":500,"request_id":"r3","body":"oops"},"error":null}`
	line201      = `{"id":"batch_req_4","custom_id":"d","response":{"status_code":201,"request_id":"r4","body":{}},"error":null}`
	lineNull     = `{"id":"batch_req_5","custom_id":"e","response":{"status_code":200,"request_id":"","body":null},"error":null}`
	lineExpired  = `{"id":"batch_req_6","custom_id":"f","response":null,"error":{"code":"batch_expired","message":"This request could not be executed before the completion window expired."}}`
	lineServer   = `{"id":"batch_req_7","custom_id":"g","response":null,"error":{"code":"SERVER_ERROR","message":"connection refused"}}`
	lineParse    = `{"id":"batch_req_8","custom_id":"h","response":null,"error":{"code":"PARSE_ERROR","message":"invalid"}}`
	lineNeither  = `{"id":"batch_req_9","custom_id":"i","response":null,"error":null}`
	lineModel    = `{"id":"batch_req_10","custom_id":"j","response":null,"error":{"code":"model_not_found","message":"no model"}}`
	lineCanceled = `{"id":"batch_req_11","custom_id":"k","response":null,"error":{"code":"batch_cancelled","message":"cancelled"}}`
)

func TestEachLineOfAnOutputFileHasAStatus(t *testing.T) {
	for _, c := range []struct {
		name, line, status, err string
		http                    int
	}{
		{"an answer is ok", lineOK, record.StatusOK, "", 200},
		{"429 is rate_limited", line429, record.StatusRateLimited, "slow down", 429},
		{"500 with a body that is no error object", line500, record.StatusHTTPError, "", 500},
		{"201 counts as failed", line201, record.StatusHTTPError, "", 201},
		{"200 without a body breaks the protocol", lineNull, record.StatusProtocolError, "the body of the answer is not a chat completion", 200},
		{"a line that expired with its job is a timeout", lineExpired, record.StatusTimeout, "batch_expired: This request could not be executed before the completion window expired.", 0},
		{"no connection", lineServer, record.StatusTransportError, "SERVER_ERROR: connection refused", 0},
		{"an answer that the processor could not read", lineParse, record.StatusProtocolError, "PARSE_ERROR: invalid", 0},
		{"neither response nor error", lineNeither, record.StatusProtocolError, "neither response nor error", 0},
		{"a model that is not served", lineModel, record.StatusHTTPError, "model_not_found: no model", 0},
		{"a line that was cancelled with its job", lineCanceled, record.StatusCancelled, "batch_cancelled: cancelled", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			results, err := readResults("output", strings.NewReader(c.line+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			got := results[0]
			if got.Status != c.status || got.Error != c.err || got.HTTPStatus != c.http {
				t.Errorf("found %s %q %d, expected %s %q %d", got.Status, got.Error, got.HTTPStatus, c.status, c.err, c.http)
			}
		})
	}
}

func TestAnAnswerCarriesUsageAndTheHashOfItsText(t *testing.T) {
	results, err := readResults("output", strings.NewReader(lineOK))
	if err != nil {
		t.Fatal(err)
	}
	got := results[0]
	// printf hi | sha256sum
	if got.OutputSHA256 != "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4" {
		t.Errorf("hash %s", got.OutputSHA256)
	}
	if got.Usage.PromptTokens != 9 || got.Usage.CompletionTokens != 3 || got.FinishReason != "length" || got.RequestID != "r1" {
		t.Errorf("found %+v", got)
	}
}

func TestACountThatCannotBeIsNoResult(t *testing.T) {
	for name, change := range map[string][2]string{
		"below zero":          {`"completion_tokens":2`, `"completion_tokens":-1`},
		"beyond a row's":      {`"completion_tokens":2`, `"completion_tokens":99999999999`},
		"of a prompt":         {`"prompt_tokens":9`, `"prompt_tokens":9223372036854775807`},
		"of what was cached":  {`"cached_tokens":4`, `"cached_tokens":-4`},
		"of the whole answer": {`"total_tokens":11`, `"total_tokens":4294967296`},
	} {
		t.Run(name, func(t *testing.T) {
			results, err := readResults("output", strings.NewReader(strings.Replace(lineSorted, change[0], change[1], 1)))
			if err != nil {
				t.Fatal(err)
			}
			if got := results[0]; got.Status != record.StatusProtocolError || !strings.HasPrefix(got.Error, "usage has ") || got.Usage != nil {
				t.Errorf("found %+v, expected a protocol_error", got)
			}
		})
	}
}

func TestAFileThatIsCutInItsLastLineKeepsTheOthers(t *testing.T) {
	results, err := readResults("output", strings.NewReader(lineOK+"\n"+line429[:40]))
	if err != nil || len(results) != 1 {
		t.Errorf("found %d results and error %v, expected the first line alone", len(results), err)
	}
}

func TestALineThatIsNoResultIsNamed(t *testing.T) {
	_, err := readResults("file_7", strings.NewReader(lineOK+"\nnonsense\n"+lineOK+"\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "file_7:2: ") {
		t.Errorf("found %v, expected an error at file_7:2", err)
	}
}

func TestAConnectionThatBreaksInAFileIsAnError(t *testing.T) {
	broken := errors.New("connection reset")
	r := iotest.ErrReader(broken)
	if _, err := readResults("file_7", r); !errors.Is(err, broken) {
		t.Errorf("found %v, expected %v", err, broken)
	}
}

func FuzzReadResults(f *testing.F) {
	f.Add([]byte(strings.Join([]string{lineOK, line429, line500, lineNull, lineExpired, lineNeither}, "\n")))
	f.Add([]byte("{}\n\n[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		results, err := readResults("f", bytes.NewReader(data))
		if err != nil {
			return
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; len(results) > lines {
			t.Errorf("found %d results in %d lines", len(results), lines)
		}
		for _, r := range results {
			if r.Status == "" {
				t.Error("a result without a status")
			}
		}
	})
}
