package gateway

import (
	"reflect"
	"strings"
	"testing"

	"bgbench/pkg/openai"
)

func TestLinesAreRefusedInTheProcessorsWords(t *testing.T) {
	good := `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"x"}]}}`
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	cases := map[string]struct{ line, want string }{
		"a good line":               {good, ""},
		"white space between":       {strings.NewReplacer(":", " :\t", ",", " , ").Replace(good[:1]) + good[1:], ""},
		"the end of a Windows line": {good + "\r", ""},
		"unknown keys":              {with(`"method"`, `"x":[1,-2.5e3,{"y":null}],"method"`), ""},
		"content null":              {with(`"x"`, `null`), ""},
		"escapes in the content":    {with(`"x"`, `"a\nb\u00e9\"c"`), ""},
		"a key in another case":     {with(`"model"`, `"MODEL"`), ""},
		"the last of a key twice":   {with(`"custom_id":"a"`, `"custom_id":"","custom_id":"a"`), ""},
		"stream false":              {with(`"model"`, `"stream":false,"model"`), ""},
		"stream null":               {with(`"model"`, `"stream":null,"model"`), ""},

		"an empty line":            {"", "unexpected end of JSON input"},
		"an empty custom_id":       {with(`"a"`, `""`), "custom_id is required"},
		"an empty method":          {with(`"POST"`, `""`), "method is required"},
		"another method":           {with(`"POST"`, `"PUT"`), "invalid method: PUT"},
		"an empty url":             {with(`"/v1/chat/completions"`, `""`), "url is required"},
		"an absolute url":          {with(`"/v1/chat/completions"`, `"http://h/v1/chat/completions"`), "url must be a relative path: http://h/v1/chat/completions"},
		"a url without scheme":     {with(`"/v1/chat/completions"`, `"//h/v1/chat/completions"`), "url must be a relative path: //h/v1/chat/completions"},
		"an endpoint that is none": {with(`"/v1/chat/completions"`, `"/v1/audio"`), "invalid endpoint: /v1/audio"},
		"a model that is empty":    {with(`"m"`, `""`), "model id is empty"},
		"stream true":              {with(`"model"`, `"stream":true,"model"`), "streaming is not supported in batch requests (model: m)"},
		"content in parts":         {with(`"x"`, `[]`), "json: cannot unmarshal array into Go struct field .body.messages.content of type string"},
		"a custom_id as a number":  {with(`"a"`, `7`), "json: cannot unmarshal number into Go struct field planRequestLine.custom_id of type string"},
		"a byte order mark":        {"\ufeff" + good, "invalid character 'ï' looking for beginning of value"},
		"text behind the object":   {good + "x", "invalid character 'x' after top-level value"},
		"a control character":      {with(`"x"`, "\"\x01\""), `invalid character '\x01' in string literal`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parseLine(c.line)
			if got := errorText(err); got != c.want {
				t.Errorf("%q, expected %q", got, c.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestPrefixHash(t *testing.T) {
	system := func(texts ...string) (messages []openai.Message) {
		for _, text := range texts {
			messages = append(messages, openai.Message{Role: "system", Content: text})
		}
		return append(messages, openai.Message{Role: "user", Content: "x"})
	}
	cases := map[string]struct {
		messages []openai.Message
		want     uint32
	}{
		"a known answer (recorded)":         {system("You are a helpful assistant."), 1681423327},
		"the first that is not empty":       {system("", "Be rude.", "Answer in one word."), 1006227864},
		"no system prompt comes last":       {system(), noPrefix},
		"an empty system prompt as well":    {system(""), noPrefix},
		"bytes, not characters, are hashed": {system("é"), 0x1e9de8c1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := prefixHash(systemPrompt(c.messages)); got != c.want {
				t.Errorf("%d, expected %d", got, c.want)
			}
		})
	}
}

// FuzzScanLine holds the fast scanner against encoding/json: what it accepts must
// be valid and mean the same.
func FuzzScanLine(f *testing.F) {
	for _, seed := range []string{
		`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}],"max_tokens":10,"ignore_eos":true}}`,
		`{"custom_id":"a","body":{"messages":[],"min_tokens":0,"temperature":0.5,"stop":["\n"]},"x":{"y":[1,2.5,true,null]}} `,
		`{"custom_id":"é\\n","method":"POST","url":"/v1/embeddings","body":{"model":"m","max_tokens":7}}`,
		`{"Custom_ID":"a","body":{"model":"é\t\"","stream":false}}`,
		`{"custom_id":"a","custom_id":"b","body":{"max_tokens":01}}`,
		`{"body":{"messages":[{"role":"user","content":"a\\","tool_calls":[]}]}}`,
		`{"body":null}`, `{}`, `[]`, ``, `{"a":"\ud800"}`, "{\"body\":{\"model\":\"\xff\"}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := scanLine(text)
		if !ok {
			return
		}
		want, err := decodeLine(text)
		if err != nil {
			t.Fatalf("the scanner accepts %q, encoding/json says %v", text, err)
		}
		if s.customID != want.customID || s.method != want.method || s.url != want.url || s.model != want.model ||
			s.stream != want.stream || len(s.messages) != len(want.messages) || len(s.messages) > 0 && !reflect.DeepEqual(s.messages, want.messages) {
			t.Fatalf("%q: scanner %+v, encoding/json %+v", text, s, want)
		}
		l, err := parseLine(text)
		if err != nil || l.body == nil {
			return
		}
		slow, err := decodeBody(text)
		if err != nil {
			t.Fatalf("%q: the scanner reads a body, encoding/json says %v", text, err)
		}
		if len(slow.Messages) == 0 {
			l.body.Messages, slow.Messages = nil, nil
		}
		if !reflect.DeepEqual(l.body, slow) {
			t.Fatalf("%q: scanner %+v, encoding/json %+v", text, l.body, slow)
		}
	})
}
