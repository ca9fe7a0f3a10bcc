package load

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"bgbench/pkg/openai"
)

func TestABodyIsTheJSONOfItsRequest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		zero := 0.0
		r := openai.ChatRequest{
			Model: rapid.String().Draw(rt, "model"), MaxTokens: rapid.IntRange(0, 9).Draw(rt, "max"), IgnoreEOS: rapid.Bool().Draw(rt, "eos"),
			Stream: rapid.Bool().Draw(rt, "stream"), CacheSalt: rapid.String().Draw(rt, "salt"), Messages: []openai.Message{},
		}
		for range rapid.IntRange(0, 3).Draw(rt, "messages") {
			r.Messages = append(r.Messages, openai.Message{Role: "user", Content: rapid.String().Draw(rt, "content")})
		}
		if rapid.Bool().Draw(rt, "options") {
			r.StreamOptions, r.Temperature = streamOptions(), &zero
		}
		ours, err := newBody(&r)
		if err != nil {
			rt.Fatal(err)
		}
		theirs, err := json.Marshal(r)
		if err != nil {
			rt.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(ours, &a); err != nil {
			rt.Fatalf("%s: %v", ours, err)
		}
		if err := json.Unmarshal(theirs, &b); err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			rt.Errorf("found %s, expected %s", ours, theirs)
		}
	})
}
