package gateway

import (
	"fmt"
	"net/http"

	"bgbench/pkg/openai"
)

// APIError is an answer of the apiserver that is not 200.
type APIError struct {
	Status int
	Body   openai.ErrorBody
}

// Error implements error.
func (e *APIError) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Body.Error.Message) }

func newError(status int, kind, message string) *APIError {
	return &APIError{Status: status, Body: openai.ErrorBody{Error: openai.Error{Type: kind, Message: message}}}
}

// BadRequest is the apiserver's answer to a request that it refuses.
func BadRequest(format string, args ...any) *APIError {
	return newError(http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...))
}

// NotFound is its answer to what does not exist or belongs to another tenant.
func NotFound(format string, args ...any) *APIError {
	return newError(http.StatusNotFound, "not_found_error", fmt.Sprintf(format, args...))
}

// InternalError is its answer to everything that it did not expect.
func InternalError() *APIError {
	return newError(http.StatusInternalServerError, "server_error", "Internal Server Error")
}
