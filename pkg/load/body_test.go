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
		if ours, theirs := decoded(t, appendBody(nil, &r)), decoded(t, marshalled(t, r)); !reflect.DeepEqual(ours, theirs) {
			rt.Errorf("found %v, expected %v", ours, theirs)
		}
	})
}

func TestABodyHasEveryFieldOfItsRequest(t *testing.T) {
	r := openai.ChatRequest{Messages: []openai.Message{{}}}
	fields := fill(t, reflect.ValueOf(&r).Elem())
	for i := range r.Messages {
		fields += fill(t, reflect.ValueOf(&r.Messages[i]).Elem())
	}
	ours, theirs := decoded(t, appendBody(nil, &r)), decoded(t, marshalled(t, r))
	if fields < 12 || !reflect.DeepEqual(ours, theirs) {
		t.Errorf("of %d fields: found %v, expected %v", fields, ours, theirs)
	}
}

// fill gives each field a value that is not its zero, and returns how many there are.
func fill(t *testing.T, v reflect.Value) (fields int) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			f.Set(reflect.New(f.Type().Elem()))
			f = f.Elem()
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString("te\"xt")
		case reflect.Int:
			f.SetInt(int64(7 + i))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(1.5e-9)
		case reflect.Struct:
			fields += fill(t, f)
			continue
		case reflect.Slice: // the messages
			continue
		default:
			t.Fatalf("a field of kind %s, which this test can't fill", f.Kind())
		}
		fields++
	}
	return fields
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
