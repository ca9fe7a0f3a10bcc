package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// Endpoint is an OpenAI API that is measured as it is: a server on a laptop, a service,
// whatever speaks the protocol. No descriptor says what is behind it.
type Endpoint struct {
	URL      string // base without /v1, of interactive requests; empty for none
	BatchURL string // base without /v1, of the Batch API; empty for none
	Model    string // empty for the only one that it offers
	Arm      string // the name in results
	Profile  spec.Profile
	// Connection.Plain is what the caller asks for; an endpoint that refuses more gets it
	// anyway.
	Connection Connection
	// Waiting is told what the endpoint is asked for; may be nil.
	Waiting func(what string)
}

// Reached is an endpoint that has answered.
type Reached struct {
	Stack   deploy.Stack
	Profile spec.Profile // of its model, and with the keys that it takes
	Plain   bool         // it gets the keys of the OpenAI API and no other
	Notes   []string     // what had to be assumed or left out
}

// ParseEndpoint reads the base of an OpenAI API, with or without /v1 at its end.
func ParseEndpoint(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("found %q, expected a URL such as http://127.0.0.1:8000/v1", withoutUser(u, text))
	case u.User != nil:
		return "", fmt.Errorf("found a user in the URL, expected %s and the API key in a file or in BG_API_KEY, where no list of processes shows it", withoutUser(u, text))
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("found %q, expected a URL without ? and #", text)
	}
	base := strings.TrimRight(u.String(), "/")
	return strings.TrimRight(strings.TrimSuffix(base, "/v1"), "/"), nil
}

// withoutUser is a URL to be shown.
func withoutUser(u *url.URL, text string) string {
	if u == nil {
		return text
	}
	shown := *u
	shown.User = nil
	return shown.String()
}

// Bounds of what is asked before a run, where no timeout of the connection is longer.
const (
	// probeTimeout is long enough for a server that loads its model when the first request
	// comes, as Ollama does.
	probeTimeout = 2 * time.Minute
	// listTimeout is that of a list, which needs no model.
	listTimeout = 30 * time.Second
)

// Reach asks the endpoint for its model, sends it one request as the run will, and
// describes it. What is wrong with the caller's input is a usage error, what is wrong
// with the server is not.
func (e Endpoint) Reach(ctx context.Context) (Reached, error) {
	c, err := e.Connection.open(e.URL, e.BatchURL)
	if err != nil {
		return Reached{}, cli.Usage(err)
	}
	defer c.close()
	r := Reached{Profile: e.Profile, Plain: e.Connection.Plain}
	if err := e.chooseModel(ctx, c, &r); err != nil {
		return r, err
	}
	if e.BatchURL != "" {
		if silent, err := e.list(ctx, "batches of "+e.BatchURL, e.listTimeout(), c.batch.Reachable); err != nil {
			if silent {
				err = cli.WithHint(err, "%s", hintListTimeout)
			}
			return r, unreachable(e.BatchURL, err)
		}
	}
	if e.URL != "" {
		err = e.tryChat(ctx, c, &r)
	} else if !r.Plain {
		// A job tells after hours that its lines were refused.
		r.Plain = true
		r.Notes = append(r.Notes, "lines of jobs have the keys of the OpenAI API alone: without --target no request tells what the endpoint takes")
	}
	if err != nil {
		return r, err
	}
	if r.Plain {
		r.Profile.Prompt.IgnoreEOS, r.Profile.Prompt.MinTokens, r.Profile.Prompt.CacheSalt = false, false, false
	}
	if e.BatchURL == "" {
		r.Profile.Batch.Jobs = nil
	}
	if e.URL == "" {
		r.Profile.Interactive = withoutRequests(r.Profile.Interactive)
	}
	r.Stack = deploy.DescribeEndpoint(e.Arm, e.URL, e.BatchURL, r.Profile)
	return r, nil
}

// Options reaches the endpoint and returns the run of set on it or, where set is nil, of a
// trial that is drawn from the profile; clean removes what was drawn.
func (e Endpoint) Options(ctx context.Context, set *inputs.Set, trial int) (o Options, clean func(), err error) {
	r, err := e.Reach(ctx)
	if err != nil {
		return o, nil, err
	}
	if clean = func() {}; set == nil {
		if set, clean, err = drawInputs(r.Stack, r.Profile, trial); err != nil {
			return o, nil, cli.Usage(err)
		}
	} else if err := e.fits(set.Manifest.Profile, r); err != nil {
		return o, nil, cli.Usage(err)
	}
	o = Options{Stack: r.Stack, Inputs: set, Connection: e.Connection, Notes: r.Notes}
	o.Connection.Plain = r.Plain
	if o.StackJSON, err = r.Stack.JSON(); err == nil {
		o.Work, err = ReadWork(set, r.Stack.Arm)
	}
	if err != nil {
		clean()
	}
	return o, clean, err
}

// fits holds inputs that are there against what the endpoint takes. Requests are made of
// them as it likes them; lines of jobs are what they are.
func (e Endpoint) fits(p spec.Profile, r Reached) error {
	asks := p.Prompt.IgnoreEOS || p.Prompt.MinTokens || p.Prompt.CacheSalt
	switch {
	case e.URL == "":
		return errors.New("--inputs: found --batch-url without --target, expected both: the schedule needs somewhere to go")
	case e.BatchURL != "" && len(p.Batch.Jobs) == 0:
		return errors.New("--batch-url: the inputs have no job, expected some")
	case e.BatchURL != "" && r.Plain && asks:
		return cli.WithHint(errors.New("the lines of the jobs have keys beyond the OpenAI API, expected inputs without"),
			"bg-gen inputs --set prompt.ignoreEOS=false --set prompt.minTokens=false --set prompt.cacheSalt=false")
	}
	return nil
}

// hintListTimeout goes with a list that did not come.
const hintListTimeout = "--headers-timeout sets how long to wait for a list"

func (e Endpoint) listTimeout() time.Duration {
	if limit := e.Connection.Timeouts.Headers; limit > 0 {
		return limit
	}
	return listTimeout
}

// list asks for a list and says whether nothing came within the limit: a server may accept
// connections and stay silent.
func (e Endpoint) list(ctx context.Context, of string, limit time.Duration, ask func(context.Context) error) (silent bool, err error) {
	e.waiting("the list of " + of)
	bound, cancel := within(ctx, limit)
	defer cancel()
	err = ask(bound)
	return err != nil && bound.Err() != nil && ctx.Err() == nil, err
}

func (e Endpoint) waiting(what string) {
	if e.Waiting != nil {
		e.Waiting(what)
	}
}

// chooseModel finds the model and holds its context against that of the profile.
func (e Endpoint) chooseModel(ctx context.Context, c clients, r *Reached) error {
	base := e.URL
	if base == "" {
		base = e.BatchURL
	}
	api := &openai.BatchClient{BaseURL: base, HTTP: c.batch.HTTP, APIKey: c.batch.APIKey, Header: c.batch.Header}
	limit := e.listTimeout()
	if e.Model != "" { // the list tells no more than the length of contexts
		limit = min(limit, checkTimeout)
	}
	var models []openai.Model
	silent, err := e.list(ctx, "models of "+base, limit, func(ctx context.Context) (err error) {
		models, err = api.Models(ctx)
		return err
	})
	var refused *openai.APIError
	switch {
	case silent && e.Model != "":
		r.Notes = append(r.Notes, fmt.Sprintf("%s gave no list of models within %s", base, limit))
	case silent:
		return cli.WithHint(unreachable(base, err), "%s; with --model no list is needed", hintListTimeout)
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound && e.Model != "":
		r.Notes = append(r.Notes, base+" has no list of models")
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		return cli.WithHint(unreachable(base, err), "give the base of an OpenAI API, which /v1 comes after, or --model where the API has no list of models")
	case err != nil:
		return unreachable(base, err)
	}
	if r.Profile.Model = e.Model; e.Model == "" {
		names := []string{}
		for _, m := range models {
			names = append(names, m.ID)
		}
		if len(names) != 1 {
			return cli.Usagef("--model: found none, expected one of the %d that %s offers: %s", len(names), base, strings.Join(names, ", "))
		}
		r.Profile.Model = names[0]
	}
	i := slices.IndexFunc(models, func(m openai.Model) bool { return m.ID == r.Profile.Model })
	if i >= 0 && models[i].MaxModelLen > 0 && models[i].MaxModelLen < r.Profile.MaxModelLen {
		return cli.Usage(cli.WithHint(fmt.Errorf("model %s has contexts of %d tokens, expected %d, those of profile %s", models[i].ID, models[i].MaxModelLen, r.Profile.MaxModelLen, r.Profile.Name),
			"--set maxModelLen=%d, of bg-gen where there are --inputs, shortens the requests that are longer", models[i].MaxModelLen))
	}
	return nil
}

// tryChat sends one request. An endpoint that refuses it for its form, as the OpenAI API
// does with a key that it does not know, is asked again without the keys of vLLM.
func (e Endpoint) tryChat(ctx context.Context, c clients, r *Reached) error {
	e.waiting(fmt.Sprintf("a chat completion of model %s of %s", r.Profile.Model, e.URL))
	limit := max(probeTimeout, e.Connection.Timeouts.Headers, e.Connection.Timeouts.FirstToken)
	bound, cancel := within(ctx, limit)
	defer cancel()
	result := e.chat(bound, c, *r)
	if !r.Plain && (result.HTTPStatus == http.StatusBadRequest || result.HTTPStatus == http.StatusUnprocessableEntity) {
		first := result.Error
		r.Plain = true
		if result = e.chat(bound, c, *r); result.Status == record.StatusOK {
			r.Notes = append(r.Notes, "the endpoint refused keys beyond the OpenAI API ("+first+"): requests go without them, and answers end where the model ends them")
		}
	}
	switch {
	case ctx.Err() != nil:
		return unreachable(e.URL, fmt.Errorf("chat completion of model %s: %w", r.Profile.Model, ctx.Err()))
	case result.Status == record.StatusTimeout:
		why := result.Error
		if bound.Err() != nil && ctx.Err() == nil {
			why = context.Cause(bound).Error()
		}
		return cli.WithHint(unreachable(e.URL, fmt.Errorf("chat completion of model %s: %s", r.Profile.Model, why)),
			"--connect-timeout, --headers-timeout, --first-token-timeout and --idle-timeout set how long to wait")
	case result.Status != record.StatusOK && result.HTTPStatus != 0 && result.HTTPStatus != http.StatusOK:
		return unreachable(e.URL, fmt.Errorf("chat completion of model %s: found status %d, expected 200: %s", r.Profile.Model, result.HTTPStatus, result.Error))
	case result.Status != record.StatusOK:
		return unreachable(e.URL, fmt.Errorf("chat completion of model %s: %s", r.Profile.Model, result.Error))
	case result.FirstChunkAt.IsZero():
		r.Notes = append(r.Notes, "the endpoint does not stream: requests have no time of a first token")
	case result.TokenSource == record.TokensFromChunks:
		r.Notes = append(r.Notes, "the endpoint does not count tokens: a chunk of a stream is taken for one")
	}
	return nil
}

// probeTokens are enough to see an answer stream.
const probeTokens = 4

func (e Endpoint) chat(ctx context.Context, c clients, r Reached) openai.Result {
	chat := &openai.ChatRequest{
		Model: r.Profile.Model, Messages: []openai.Message{{Role: "user", Content: "Count to ten."}},
		MaxTokens: probeTokens, IgnoreEOS: r.Profile.Prompt.IgnoreEOS, Stream: true, StreamOptions: streamOptions(),
	}
	if r.Profile.Prompt.MinTokens {
		chat.MinTokens = probeTokens
	}
	if r.Profile.Prompt.CacheSalt {
		chat.CacheSalt = "probe"
	}
	if r.Plain {
		makePlain(chat)
	}
	return c.inference.Stream(ctx, openai.Call{Encode: func(dst []byte) []byte { return appendBody(dst, chat) }}, nil)
}

// makePlain takes the keys off that the OpenAI API does not know.
func makePlain(chat *openai.ChatRequest) {
	chat.MinTokens, chat.IgnoreEOS, chat.CacheSalt, chat.Priority = 0, false, "", 0
	chat.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
}

// withoutRequests is the schedule of a run of jobs alone.
func withoutRequests(in spec.Interactive) spec.Interactive {
	in.Phases = slices.Clone(in.Phases)
	for i, p := range in.Phases {
		in.Phases[i] = spec.Phase{Name: p.Name, Duration: p.Duration, Class: p.Class}
	}
	return in
}

func unreachable(base string, err error) error {
	err = fmt.Errorf("endpoint %s: %w", base, err)
	var refused *openai.APIError
	if errors.As(err, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) {
		return cli.WithHint(err, "give the API key in a file with --api-key-file, or in BG_API_KEY")
	}
	return err
}
