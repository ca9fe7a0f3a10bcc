package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"bgbench/pkg/record"
)

func TestABodyIsForgottenOnceItIsReadAndAnswered(t *testing.T) {
	b := &requestBody{data: []byte("body")}
	req, err := http.NewRequest(http.MethodPost, "http://model", nil)
	if err != nil {
		t.Fatal(err)
	}
	b.into(req)
	if got, err := io.ReadAll(req.Body); err != nil || string(got) != "body" || req.ContentLength != 4 {
		t.Errorf("found %q of %d bytes: %v", got, req.ContentLength, err)
	}
	again, err := req.GetBody() // the connection turned out to be closed
	if err != nil {
		t.Fatal(err)
	}
	half := make([]byte, 2)
	if _, err := io.ReadFull(again, half); err != nil || b.data == nil {
		t.Errorf("found %v, and data %q", err, b.data)
	}
	b.release()
	if b.data != nil {
		t.Error("the bytes of a request that was read once are kept after its answer began")
	}

	freed := 0
	early := &requestBody{data: []byte("body"), free: func([]byte) { freed++ }}
	early.into(req)
	early.release()
	if got, err := io.ReadAll(req.Body); err != nil || string(got) != "body" || early.data != nil || freed != 1 {
		t.Errorf("found %q (%v), data %q, freed %d times, expected that an early answer cuts nothing and the end lets go", got, err, early.data, freed)
	}
}

func TestAServerThatAnswersEarlyGetsTheWholeRequest(t *testing.T) {
	body := strings.Repeat("x", 4<<20)
	got := make(chan int, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		stream(w, role)
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- int(n)
		stream(w, content("a", 1), length, "[DONE]")
	})
	r := (&Client{BaseURL: url}).Stream(t.Context(), Call{Body: []byte(body)}, nil)
	if n := <-got; n != len(body) || r.Status != record.StatusOK {
		t.Errorf("found %d of %d bytes and status %s: %s", n, len(body), r.Status, r.Error)
	}
}
