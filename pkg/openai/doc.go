// Package openai speaks the OpenAI wire format as vLLM and the llm-d batch
// gateway do: types, a decoder of server-sent events, a streaming chat client and
// a Files + Batches client.
//
// It decides nothing about a run: it says for each request what was sent and what
// came back when, and the caller makes a row of it. pkg/load calls the clients,
// pkg/sim/serve and pkg/sim/gateway share the types, `bg-load conform sse` calls
// Conform.
//
// A streamed request, with instants of the socket itself:
//
//	client := &openai.Client{BaseURL: "http://127.0.0.1:8000"}
//	result := client.Stream(ctx, openai.Call{Body: body}, observer)
//	// result.Status is one of record's Status constants; result.Error says why
//
// The decoder alone:
//
//	d := openai.NewDecoder(conn, time.Now)
//	for {
//		event, err := d.Next() // event.At is the instant of the read that completed it
//		…
//	}
//
// A batch job:
//
//	api := &openai.BatchClient{BaseURL: "http://127.0.0.1:8001"}
//	file, err := api.UploadFile(ctx, "job-A.jsonl", openai.PurposeBatch, nil)
//	batch, err := api.CreateBatch(ctx, openai.CreateBatch{InputFileID: file.ID, …})
//	batch, err = api.Batch(ctx, batch.ID)
//
// Three rules decide what a streamed answer is worth. An instant is taken before
// any byte is looked at. An answer is ok only if the server said that it is whole:
// by [DONE], or by a finish reason and a clean end of the body. And tokens are
// counted by the server: by the usage of each chunk, else by the usage at the end,
// else by chunks, and TokenSource says which.
package openai
