package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"bgbench/pkg/openai"
	"bgbench/pkg/record"
)

// TenantHeader names the tenant to the llm-d batch gateway (apiserver,
// inputHeaders.tenant).
const TenantHeader = "X-MaaS-Username"

// ProxyFromEnvironment is the Connection.Proxy that asks HTTPS_PROXY and its kin.
const ProxyFromEnvironment = "environment"

// Connection is how a run reaches a stack over HTTP. The zero value is plain
// HTTP/1.1, or TLS with the roots of the system, through no proxy.
type Connection struct {
	Timeouts openai.Timeouts
	CAFile   string // PEM, besides the roots of the system; empty for none
	Proxy    string // a URL, or ProxyFromEnvironment; empty for none
	HTTP2    bool
	// MaxAnswerBytes bounds an answer; 0 is openai.DefaultAnswerLimit.
	MaxAnswerBytes int64
	APIKey         openai.Secret
	Tenant         string      // of batch jobs; empty for the gateway's default
	Header         http.Header // on each request
	// Plain sends the keys of the OpenAI API and no other, to servers that refuse more.
	Plain bool
}

// clients are what a Connection comes to, and what they count.
type clients struct {
	inference *openai.Client
	batch     *openai.BatchClient
	http      *http.Client
	dialled   *atomic.Int64
}

// ParseHeaders reads lines of the form "Name: value".
func ParseHeaders(lines []string) (http.Header, error) {
	h := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("header: found %q, expected NAME: VALUE", line)
		case strings.EqualFold(name, "Authorization"):
			return nil, errors.New("header: found Authorization, expected the API key in a file or in BG_API_KEY, where no list of processes shows it")
		case slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.EqualFold(name, own) }):
			return nil, fmt.Errorf("header: found %s, which says how a message is sent and is the client's own, expected another one", name)
		}
		if strings.EqualFold(name, "Host") && (value == "" || !httpguts.ValidHostHeader(value) || h.Get(name) != "") {
			return nil, fmt.Errorf("header: found %q, expected one Host with the name of a host", line)
		}
		h.Add(name, value)
	}
	return h, nil
}

// ownHeaders are about a connection or the coding of a body. They would be dropped without a
// word, or get answers that the client does not understand.
var ownHeaders = []string{"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Expect", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade"}

// open makes the clients of a stack.
func (c Connection) open(inferenceURL, batchURL string) (clients, error) {
	made := clients{dialled: new(atomic.Int64)}
	d := openai.Dialling{ConnectTimeout: c.Timeouts.Connect, HTTP2: c.HTTP2, Dialled: made.dialled}
	var err error
	if d.TLS, err = c.tls(); err != nil {
		return clients{}, err
	}
	if d.Proxy, err = c.proxy(); err != nil {
		return clients{}, err
	}
	made.http = openai.NewStreamClient(d)
	made.inference = &openai.Client{
		BaseURL: inferenceURL, HTTP: made.http, APIKey: c.APIKey, Header: c.Header,
		Timeouts: c.Timeouts, MaxAnswerBytes: c.MaxAnswerBytes,
	}
	header := c.Header.Clone()
	if c.Tenant != "" {
		if header == nil {
			header = http.Header{}
		}
		header.Set(TenantHeader, c.Tenant)
	}
	// The Batch API has connections of its own: they are not those of the load.
	d.Dialled = nil
	made.batch = &openai.BatchClient{BaseURL: batchURL, HTTP: openai.NewHTTPClient(d), APIKey: c.APIKey, Header: header}
	return made, nil
}

func (c clients) close() {
	c.http.CloseIdleConnections()
	c.batch.HTTP.CloseIdleConnections()
}

func (c Connection) tls() (*tls.Config, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca-file: %s: found no certificate, expected one or more as PEM", c.CAFile)
	}
	return &tls.Config{RootCAs: roots}, nil
}

func (c Connection) proxy() (func(*http.Request) (*url.URL, error), error) {
	switch c.Proxy {
	case "":
		return nil, nil
	case ProxyFromEnvironment:
		return http.ProxyFromEnvironment, nil
	}
	to, err := url.Parse(c.Proxy)
	switch {
	case err == nil && to.User != nil:
		return nil, fmt.Errorf("proxy: found a user in the URL, expected it in HTTPS_PROXY together with %q, where no list of processes shows it", ProxyFromEnvironment)
	case err != nil || to.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, to.Scheme):
		return nil, fmt.Errorf("proxy: found %q, expected a URL such as http://127.0.0.1:3128, or %s", c.Proxy, ProxyFromEnvironment)
	}
	return http.ProxyURL(to), nil
}

// settings is what run-metadata.json says of the connection: no secret, and of the
// headers the names.
func (c Connection) settings() *record.ClientSettings {
	s := &record.ClientSettings{
		ConnectTimeoutS: c.Timeouts.Connect.Seconds(), HeadersTimeoutS: c.Timeouts.Headers.Seconds(),
		FirstTokenTimeoutS: c.Timeouts.FirstToken.Seconds(), IdleTimeoutS: c.Timeouts.Idle.Seconds(),
		MaxAnswerBytes: c.MaxAnswerBytes, CAFile: c.CAFile, Proxy: c.Proxy, HTTP: "1.1", APIKey: c.APIKey != "", Tenant: c.Tenant,
	}
	s.Plain = c.Plain
	if c.HTTP2 {
		s.HTTP = "2"
	}
	if c.Timeouts.Connect == 0 {
		s.ConnectTimeoutS = openai.DefaultConnectTimeout.Seconds()
	}
	if c.MaxAnswerBytes == 0 {
		s.MaxAnswerBytes = openai.DefaultAnswerLimit
	}
	for name := range c.Header {
		s.Headers = append(s.Headers, name)
	}
	slices.Sort(s.Headers)
	return s
}

// Check says what is wrong with the settings, each named as the flag that sets it, before
// anything is written.
func (c Connection) Check() error {
	for _, bound := range []struct {
		name string
		time time.Duration
	}{
		{"connect-timeout", c.Timeouts.Connect}, {"headers-timeout", c.Timeouts.Headers},
		{"first-token-timeout", c.Timeouts.FirstToken}, {"idle-timeout", c.Timeouts.Idle},
	} {
		if bound.time < 0 {
			return fmt.Errorf("%s: found %s, expected 0 or more", bound.name, bound.time)
		}
	}
	if c.MaxAnswerBytes < 0 {
		return fmt.Errorf("max-answer-bytes: found %d, expected 0 or more", c.MaxAnswerBytes)
	}
	if c.Tenant != "" && !httpguts.ValidHeaderFieldValue(c.Tenant) {
		return fmt.Errorf("tenant: found %q, expected the value of a header", c.Tenant)
	}
	_, err := c.open("", "")
	return err
}
