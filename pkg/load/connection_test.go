package load

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

func opened(t *testing.T, c Connection, inference, batch string) clients {
	t.Helper()
	made, err := c.open(inference, batch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.close)
	return made
}

func TestARequestCarriesTheKeyTheTenantAndTheHeadersOfItsRun(t *testing.T) {
	got := map[string]http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got[r.URL.Path] = r.Header
		if r.URL.Path == openai.ChatPath {
			write(w, chunk("a", 1, "stop"), "data: [DONE]\n\n")
		}
	}))
	defer server.Close()
	header, err := ParseHeaders([]string{"x-team: blue", "X-Team:red "})
	if err != nil {
		t.Fatal(err)
	}
	c := opened(t, Connection{APIKey: "k3y", Tenant: "acme", Header: header}, server.URL, server.URL)
	c.inference.Stream(t.Context(), openai.Call{Body: []byte("{}")}, nil)
	if err := c.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, tenant := range map[string]string{openai.ChatPath: "", "/v1/batches": "acme"} {
		h := got[path]
		if h.Get("Authorization") != "Bearer k3y" || strings.Join(h["X-Team"], ",") != "blue,red" || h.Get(TenantHeader) != tenant {
			t.Errorf("%s: found %v", path, h)
		}
	}
}

func TestAWaitThatIsOverSaysForHowLongItWas(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	c := opened(t, Connection{}, server.URL, server.URL)
	ctx, cancel := within(t.Context(), 20*time.Millisecond)
	defer cancel()
	const want = "found no answer within 20ms, expected one"
	for name, err := range map[string]error{
		"a health page": c.check(ctx),
		"a batch":       func() error { _, err := c.batch.Batch(ctx, "b"); return err }(),
	} {
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: found %v, expected %s", name, err, want)
		}
	}
}

func TestACertificateOfAPrivateAuthorityNeedsItsFile(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write(w, chunk("a", 1, "stop"), "data: [DONE]\n\n")
	}))
	defer server.Close()
	server.Config.ErrorLog = nil
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := opened(t, Connection{CAFile: ca}, server.URL, "").inference.Stream(t.Context(), openai.Call{}, nil)
	if r.Status != record.StatusOK {
		t.Errorf("with the file: found %s %q", r.Status, r.Error)
	}
	r = opened(t, Connection{}, server.URL, "").inference.Stream(t.Context(), openai.Call{}, nil)
	if r.Status != record.StatusTransportError || !strings.Contains(r.Error, (x509.UnknownAuthorityError{}).Error()) {
		t.Errorf("without the file: found %s %q", r.Status, r.Error)
	}
}

func TestSettingsOfNoUseAreNamed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		connection Connection
		err        string
	}{
		"a file without certificate": {Connection{CAFile: empty}, "ca-file: " + empty + ": found no certificate, expected one or more as PEM"},
		"a file that is not there":   {Connection{CAFile: empty + "2"}, "ca-file: open " + empty + "2: no such file or directory"},
		"a proxy without scheme":     {Connection{Proxy: "localhost:3128"}, `proxy: found "localhost:3128", expected a URL such as http://127.0.0.1:3128, or environment`},
		"a password in a flag":       {Connection{Proxy: "http://me:k3y@p:1"}, `proxy: found a user in the URL, expected it in HTTPS_PROXY together with "environment", where no list of processes shows it`},
		"a negative time":            {Connection{Timeouts: openai.Timeouts{Idle: -time.Second}}, "idle-timeout: found -1s, expected 0 or more"},
		"a tenant of two lines":      {Connection{Tenant: "a\nb"}, `tenant: found "a\nb", expected the value of a header`},
		"a negative size":            {Connection{MaxAnswerBytes: -1}, "max-answer-bytes: found -1, expected 0 or more"},
	} {
		if err := c.connection.Check(); err == nil || err.Error() != c.err {
			t.Errorf("%s: found %v, expected %s", name, err, c.err)
		}
	}
	for line, want := range map[string]string{
		"no colon":               `header: found "no colon", expected NAME: VALUE`,
		"a b: c":                 `header: found "a b: c", expected NAME: VALUE`,
		": c":                    `header: found ": c", expected NAME: VALUE`,
		"te: trailers":           "header: found te, which says how a message is sent and is the client's own, expected another one",
		"Accept-Encoding: gzip":  "header: found Accept-Encoding, which says how a message is sent and is the client's own, expected another one",
		"Expect:100-continue":    "header: found Expect, which says how a message is sent and is the client's own, expected another one",
		"Host:":                  `header: found "Host:", expected one Host with the name of a host`,
		"host: a b/c":            `header: found "host: a b/c", expected one Host with the name of a host`,
		"authorization: Bearer ": "header: found Authorization, expected the API key in a file or in BG_API_KEY, where no list of processes shows it",
	} {
		if _, err := ParseHeaders([]string{line}); err == nil || err.Error() != want {
			t.Errorf("%q: found %v, expected %s", line, err, want)
		}
	}
	if _, err := ParseHeaders([]string{"Host: a.example:80", "host: b"}); err == nil || err.Error() != `header: found "host: b", expected one Host with the name of a host` {
		t.Errorf("a second host: found %v", err)
	}
	if h, err := ParseHeaders([]string{"host: a.example:80"}); err != nil || h.Get("Host") != "a.example:80" {
		t.Errorf("found %v and %v", h, err)
	}
}

func TestTheMetadataTellsNoSecret(t *testing.T) {
	c := Connection{APIKey: "k3y", Tenant: "acme", Header: http.Header{"X-Token": {"t0ken"}}, Proxy: ProxyFromEnvironment, HTTP2: true}
	text, err := json.Marshal(c.settings())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"connect_timeout_s":10,"headers_timeout_s":0,"first_token_timeout_s":0,"idle_timeout_s":0,"max_answer_bytes":536870912,"http":"2","proxy":"environment","api_key":true,"tenant":"acme","headers":["X-Token"]}`
	if string(text) != want {
		t.Errorf("found %s, expected %s", text, want)
	}
}

// reviver starts a server anew as soon as rows say for the third time that it was gone.
type reviver struct {
	memory
	gone   int
	revive func()
}

func (r *reviver) Request(row record.Request) {
	if row.Status == record.StatusTransportError {
		if r.gone++; r.gone == 3 {
			r.revive()
		}
	}
	r.memory.Request(row)
}

func TestARunOutlivesTheRestartOfItsServer(t *testing.T) {
	var served atomic.Int32
	var server *httptest.Server
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		write(w, chunk("a", 1, "stop"), "data: [DONE]\n\n")
		if served.Add(1) == 2 {
			server.Listener.Close() // and the connections with the answer
			w.Header().Set("Connection", "close")
			panic(http.ErrAbortHandler)
		}
	})
	server = httptest.NewServer(handler)
	address := server.Listener.Addr().String()
	set := testSet(t, dues(0, 0.1, 0.2, 0.3, 1.7, 1.8, 1.9))
	set.Manifest.Profile.Interactive.Phases = []spec.Phase{{Name: "burst", Rate: 1, Duration: spec.Duration(2 * time.Second)}}
	k := kernel.NewWall()
	c := opened(t, Connection{}, server.URL, "")
	r, _ := virtualReplay(t, set, k, newHTTPTransport(k, c.inference), nil, spec.Backlog{Concurrency: 1})
	rows := &reviver{revive: func() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		again := &http.Server{Handler: handler}
		go again.Serve(l)
		t.Cleanup(func() { again.Close() })
	}}
	r.cfg.Rows = rows
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections()
	failed := 0
	for _, row := range rows.requests {
		if row.Status == record.StatusTransportError {
			failed++
		}
	}
	h := r.health()
	if failed != 3 || len(rows.requests) != 7 || len(h.Outages) != 1 {
		t.Fatalf("found %d rows, %d of them failed, and outages %+v", len(rows.requests), failed, h.Outages)
	}
	o := h.Outages[0]
	if o.Endpoint != "inference" || o.Failed != failed || o.EndedAt == nil || !o.EndedAt.After(o.StartedAt) {
		t.Errorf("found %+v, expected an outage of %d requests that ended", o, failed)
	}
	if w := strings.Join(r.Warnings(), "\n"); !strings.Contains(w, "the inference endpoint gave no answer from ") {
		t.Errorf("warnings: %s", w)
	}
}

func TestAnOutageIsWhatLiesBetweenTwoAnswers(t *testing.T) {
	const s = time.Second
	refused := func(at time.Duration) Attempt {
		return Attempt{Status: record.StatusTransportError, Done: At(at)}
	}
	answered := func(at time.Duration) Attempt {
		return Attempt{Status: record.StatusOK, Headers: At(at), Done: At(at + s)}
	}
	cut := func(headers, done time.Duration) Attempt {
		return Attempt{Status: record.StatusTransportError, Headers: At(headers), Done: At(done)}
	}
	streamed := func(headers time.Duration, chunks ...time.Duration) Attempt {
		a := Attempt{Status: record.StatusOK, Headers: At(headers)}
		for _, at := range chunks {
			a.Content(at, 1)
		}
		a.Done = a.LastToken
		return a
	}
	const end = 60 * s
	for name, c := range map[string]struct {
		attempts []Attempt
		want     []string
		beside   int
	}{
		"answers only":                           {[]Attempt{answered(1 * s), answered(2 * s)}, nil, 0},
		"one failure":                            {[]Attempt{answered(1 * s), refused(2 * s), answered(4 * s)}, []string{"2-4 1"}, 0},
		"a failure just before an answer":        {[]Attempt{answered(1 * s), refused(2 * s), answered(3 * s)}, nil, 1},
		"several failures are one outage":        {[]Attempt{refused(2 * s), refused(3 * s), answered(4 * s)}, []string{"2-4 2"}, 0},
		"an answer that began before is no sign": {[]Attempt{refused(5 * s), answered(4 * s), refused(6 * s), answered(9 * s)}, []string{"5-9 2"}, 0},
		"a stream that was cut begins one":       {[]Attempt{cut(1*s, 6*s), refused(7 * s), answered(8 * s)}, []string{"6-8 2"}, 0},
		"a stream that was cut alone is none":    {[]Attempt{cut(1*s, 6*s), answered(8 * s)}, nil, 1},
		"streams that are cut one by one":        {[]Attempt{cut(1*s, 2*s), cut(4*s, 5*s), cut(7*s, 8*s), cut(10*s, 11*s)}, nil, 4},
		"a chunk of another stream is an answer": {[]Attempt{refused(5 * s), streamed(1*s, 2*s, 4*s, 6*s, 9*s)}, nil, 1},
		"a stream that is heard of later on":     {[]Attempt{refused(5 * s), answered(8 * s), streamed(1*s, 2*s, 4*s, 6*s, 10*s)}, nil, 1},
		"a stream that shortens an outage":       {[]Attempt{refused(5 * s), answered(9 * s), streamed(1*s, 2*s, 7*s, 10*s)}, []string{"5-7 1"}, 0},
		"a stream that stands still meanwhile":   {[]Attempt{refused(5 * s), answered(8 * s), streamed(1*s, 2*s, 4*s, 9*s, 10*s)}, []string{"5-8 1"}, 0},
		"one that lasts has no end":              {[]Attempt{answered(1 * s), refused(2 * s)}, []string{"2- 1"}, 0},
		"a refusal is an answer":                 {[]Attempt{refused(1 * s), {Status: record.StatusHTTPError, Headers: At(3 * s)}}, []string{"1-3 1"}, 0},
	} {
		k := kernel.NewVirtual()
		o := outage{k: k, endpoint: "inference"}
		for _, a := range c.attempts {
			o.attempt(a)
		}
		past, more := o.close(end)
		var got []string
		for _, p := range past {
			text := p.StartedAt.Sub(k.Epoch()).String() + "-"
			if p.EndedAt != nil {
				text += p.EndedAt.Sub(k.Epoch()).String()
			}
			got = append(got, strings.ReplaceAll(text, "s", "")+" "+string(rune('0'+p.Failed)))
		}
		if strings.Join(got, ",") != strings.Join(c.want, ",") || more != 0 || o.beside != c.beside {
			t.Errorf("%s: found %q and %d beside answers, expected %q and %d", name, got, o.beside, c.want, c.beside)
		}
	}
}

func TestOutagesAreOneWarningAndFailuresBesideAnswersAnother(t *testing.T) {
	const s = time.Second
	type event struct {
		at   time.Duration
		what string // failed, cut or answered
	}
	for name, c := range map[string]struct {
		events []event
		want   string
	}{
		"one outage": {[]event{{1 * s, "failed"}, {3 * s, "failed"}, {4 * s, "answered"}},
			"the batch endpoint gave no answer from 00:00:01 on, for 3.0 s: 2 requests failed"},
		"two outages": {[]event{{1 * s, "failed"}, {3 * s, "answered"}, {4 * s, "failed"}, {8 * s, "answered"}},
			"the batch endpoint gave no answer 2 times, from 00:00:01 on for the first time, for 6.0 s: 2 requests failed"},
		"an outage that lasts": {[]event{{1 * s, "failed"}},
			"the batch endpoint gave no answer from 00:00:01 on, until the end of the run: 1 requests failed"},
		"streams that are cut": {[]event{{1 * s, "cut"}, {2 * s, "answered"}, {3 * s, "cut"}, {4 * s, "cut"}, {9 * s, "answered"}},
			"the batch endpoint broke off 3 requests while it answered others"},
		"answers": {[]event{{1 * s, "answered"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := kernel.NewVirtual()
			o := outage{k: k, endpoint: "batch"}
			for _, e := range c.events {
				if e.what == "answered" {
					o.answered(e.at)
				} else {
					o.lost(e.at, e.what == "cut")
				}
			}
			o.close(20 * s)
			clock := calendar(k, s).Format(time.TimeOnly)
			if got := strings.Join(o.warnings(), "\n"); got != strings.ReplaceAll(c.want, "00:00:01", clock) {
				t.Errorf("found %q, expected %q", got, c.want)
			}
		})
	}
}

func TestTheListOfOutagesIsBounded(t *testing.T) {
	o := outage{k: kernel.NewVirtual()}
	for i := range time.Duration(maxOutages + 5) {
		o.lost(4*i*time.Second, false)
		o.answered((4*i + 2) * time.Second)
	}
	if past, more := o.close(time.Hour); len(past) != maxOutages || more != 5 {
		t.Errorf("found %d outages and %d more", len(past), more)
	}
}
