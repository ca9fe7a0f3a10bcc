package openai

import (
	"context"
	"net/http"
)

// Model is an entry of GET /v1/models.
type Model struct {
	ID string `json:"id"`
	// MaxModelLen is the context that vLLM and SGLang say; 0 where a server does not.
	MaxModelLen int `json:"max_model_len"`
}

// Models lists what the server offers.
func (c *BatchClient) Models(ctx context.Context) ([]Model, error) {
	const operation = "list models"
	req, err := c.request(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []Model `json:"data"`
	}
	err = c.do(req, operation, &list)
	return list.Data, err
}

// Reachable asks for the list of batches, as a client does that may create one.
func (c *BatchClient) Reachable(ctx context.Context) error {
	const operation = "list batches"
	req, err := c.request(ctx, http.MethodGet, "/v1/batches?limit=1", nil)
	if err != nil {
		return err
	}
	var list struct{}
	return c.do(req, operation, &list)
}
