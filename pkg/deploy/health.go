package deploy

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Health is whether one address of a stack answers.
type Health struct {
	Name, URL string
	Err       error // nil when it answers 200
}

// Check asks every address of the stack.
func (s Stack) Check(ctx context.Context, client *http.Client) []Health {
	var found []Health
	ask := func(name, url string) {
		found = append(found, Health{name, url, get(ctx, client, url)})
	}
	if s.InferenceURL != "" {
		ask("inference", s.InferenceURL+"/health")
	}
	if s.BatchURL != "" {
		ask("batch", s.BatchURL+"/v1/batches?limit=1")
	}
	for _, e := range s.Metrics {
		ask(e.Source, e.URL)
	}
	return found
}

// checkTimeout bounds one answer of a stack on loopback or in the same cluster.
const checkTimeout = 5 * time.Second

// get asks url and fails unless it answers 200.
func get(ctx context.Context, client *http.Client, url string) error {
	status, err := Get(ctx, client, url)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("found status %d, expected 200", status)
	}
	return nil
}

// Get asks url of a stack and returns the status of its answer.
func Get(ctx context.Context, client *http.Client, url string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
