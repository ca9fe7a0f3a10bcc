package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// DownError says that a stack does not answer.
type DownError struct {
	What, URL string
	Err       error
}

func (e *DownError) Error() string {
	return fmt.Sprintf("%s %s does not answer: %v", e.What, e.URL, e.Err)
}
func (e *DownError) Unwrap() error { return e.Err }

// Hint implements cli.Hinter.
func (e *DownError) Hint() string { return "bg-deploy status says what of the stack is up" }

// check asks every address that a run needs, once, the way the run will.
func (c clients) check(ctx context.Context) error {
	// A gateway without a health page of its own passes /v1/models on.
	err := c.answers(ctx, c.inference.BaseURL, "/health")
	if err != nil {
		if other := c.answers(ctx, c.inference.BaseURL, "/v1/models"); other != nil {
			return &DownError{"inference endpoint", c.inference.BaseURL, errors.Join(err, other)}
		}
	}
	if c.batch.BaseURL == "" {
		return nil
	}
	if err := c.answers(ctx, c.batch.BaseURL, "/v1/batches?limit=1"); err != nil {
		return &DownError{"batch endpoint", c.batch.BaseURL, err}
	}
	return nil
}

// checkTimeout bounds one answer.
const checkTimeout = 5 * time.Second

// within bounds the wait for an answer, and says so in the error of what waited.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("found no answer within %s, expected one", limit))
}

func (c clients) answers(ctx context.Context, base, path string) error {
	ctx, cancel := within(ctx, checkTimeout)
	defer cancel()
	status, err := c.batch.Get(ctx, base, path)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s%s: found status %d, expected 200", base, path, status)
	}
	return nil
}
