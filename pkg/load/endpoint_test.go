package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bgbench/pkg/cli"
	"bgbench/pkg/spec"
)

func TestParseEndpoint(t *testing.T) {
	for name, c := range map[string]struct{ text, want, fault string }{
		"a base is one":                  {"http://127.0.0.1:8000", "http://127.0.0.1:8000", ""},
		"v1 at the end is taken off":     {"https://api.example.com/v1", "https://api.example.com", ""},
		"so is a slash after it":         {"https://example.com/team/v1//", "https://example.com/team", ""},
		"v1 elsewhere stays":             {"http://h/v1/x", "http://h/v1/x", ""},
		"a name is no URL":               {"localhost", "", `found "localhost", expected a URL such as`},
		"another scheme is none":         {"ftp://h", "", `found "ftp://h", expected a URL such as`},
		"credentials are not printed":    {"http://me:s3cret@h/v1", "", "found a user in the URL, expected http://h/v1 and the API key in a file"},
		"a query has no place before v1": {"http://h/?key=1", "", "expected a URL without ? and #"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseEndpoint(c.text)
			if got != c.want || (err == nil) != (c.fault == "") || err != nil && (!strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("got %q, %v, want %q, %q", got, err, c.want, c.fault)
			}
		})
	}
}

// openAI is a server that knows the keys of the OpenAI API alone, if strict.
type openAI struct {
	models []string
	strict bool
	key    string
}

func (o openAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case o.key != "" && r.Header.Get("Authorization") != "Bearer "+o.key:
		http.Error(w, `{"error":{"message":"no key"}}`, http.StatusUnauthorized)
	case r.URL.Path == "/v1/models" && o.models != nil:
		var list []string
		for _, m := range o.models {
			list = append(list, fmt.Sprintf(`{"id":%q,"max_model_len":2048}`, m))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(list, ","))
	case r.URL.Path == "/v1/chat/completions":
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || o.strict && body["ignore_eos"] != nil {
			http.Error(w, `{"error":{"message":"Unrecognized request argument supplied: ignore_eos"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"1"}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
	case r.URL.Path == "/v1/batches":
		fmt.Fprint(w, `{"data":[]}`)
	default:
		http.NotFound(w, r)
	}
}

func TestReach(t *testing.T) {
	for name, c := range map[string]struct {
		server       openAI
		model, batch bool // --model b is given; the Batch API is measured, alone
		set          string
		want         string // model, and whether plain
		fault        string
		usage        bool
	}{
		"its only model is taken":                             {server: openAI{models: []string{"a"}}, want: "a false"},
		"keys that it refuses are left out":                   {server: openAI{models: []string{"a"}, strict: true}, want: "a true"},
		"of several models one must be named":                 {server: openAI{models: []string{"a", "b"}}, fault: "--model: found none, expected one of the 2 that URL offers: a, b", usage: true},
		"a model that is named is taken":                      {server: openAI{models: []string{"a", "b"}}, model: true, want: "b false"},
		"a server without a list serves the model that is":    {server: openAI{}, model: true, want: "b false"},
		"a server without a list and a name is no OpenAI API": {server: openAI{}, fault: "endpoint URL: list models: found status 404, expected 200"},
		"a server that wants a key says so":                   {server: openAI{models: []string{"a"}, key: "k"}, fault: "endpoint URL: list models: found status 401, expected 200: no key"},
		"a context that is too short is the profile's fault":  {server: openAI{models: []string{"a"}}, set: "maxModelLen=4096", fault: "model a has contexts of 2048 tokens, expected 4096, those of profile quick-batch", usage: true},
		"a Batch API alone gets plain lines":                  {server: openAI{models: []string{"a"}}, batch: true, want: "a true"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.server)
			defer server.Close()
			var sets []string
			if c.set != "" {
				sets = []string{c.set}
			}
			profile, err := spec.LoadProfile("quick-batch", sets)
			if err != nil {
				t.Fatal(err)
			}
			e := Endpoint{URL: server.URL, Arm: "endpoint", Profile: profile}
			if c.batch {
				e.URL, e.BatchURL = "", server.URL
			}
			if c.model {
				e.Model = "b"
			}
			r, err := e.Reach(t.Context())
			var usage cli.UsageError
			switch {
			case c.fault != "":
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), server.URL, "URL"), c.fault) || errors.As(err, &usage) != c.usage {
					t.Errorf("got %v, want %s", err, c.fault)
				}
			case err != nil:
				t.Error(err)
			case fmt.Sprint(r.Profile.Model, " ", r.Plain) != c.want || r.Plain == r.Profile.Prompt.IgnoreEOS || r.Stack.Model != r.Profile.Model:
				t.Errorf("got %s %v with ignoreEOS %v, want %s", r.Profile.Model, r.Plain, r.Profile.Prompt.IgnoreEOS, c.want)
			case (len(r.Profile.Batch.Jobs) > 0) != c.batch || (r.Profile.Interactive.Phases[0].Rate == 0) != c.batch:
				t.Errorf("got %d jobs and rate %g", len(r.Profile.Batch.Jobs), r.Profile.Interactive.Phases[0].Rate)
			}
		})
	}
}
