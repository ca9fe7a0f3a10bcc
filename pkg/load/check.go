package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bgbench/pkg/deploy"
	"bgbench/pkg/spec"
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

// Check asks every address that a run needs, once.
func Check(ctx context.Context, s deploy.Stack) error {
	if s.Target == spec.TargetModel {
		return nil
	}
	client := &http.Client{}
	defer client.CloseIdleConnections()
	// A gateway without a health page of its own passes /v1/models on.
	err := answers(ctx, client, s.InferenceURL+"/health")
	if err != nil {
		if other := answers(ctx, client, s.InferenceURL+"/v1/models"); other != nil {
			return &DownError{"inference endpoint", s.InferenceURL, errors.Join(err, other)}
		}
	}
	if s.BatchURL != "" {
		if err := answers(ctx, client, s.BatchURL+"/v1/batches?limit=1"); err != nil {
			return &DownError{"batch endpoint", s.BatchURL, err}
		}
	}
	return nil
}

func answers(ctx context.Context, client *http.Client, url string) error {
	status, err := deploy.Get(ctx, client, url)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s: found status %d, expected 200", url, status)
	}
	return nil
}
