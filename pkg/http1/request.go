package http1

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/http/httpguts"
)

// check refuses a request that cannot be sent, and returns where it goes: the destination,
// and the host whose certificate is expected there.
func check(req *http.Request) (to destination, host string, err error) {
	switch {
	case req.URL == nil || req.URL.Host == "":
		return to, "", errors.New("http1: found no host in the URL of a request")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return to, "", fmt.Errorf("http1: found scheme %q, expected http or https", req.URL.Scheme)
	case req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method), req.Method == http.MethodConnect:
		return to, "", fmt.Errorf("http1: found method %q, expected another one", req.Method)
	case len(req.Trailer) > 0, req.Header.Get("Expect") != "", req.Header.Get("Upgrade") != "":
		return to, "", errors.New("http1: found a request with a trailer, Expect or Upgrade, expected none of them")
	}
	for name, values := range req.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return to, "", fmt.Errorf("http1: found %q, expected the name of a header", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) { // which may be secret
				return to, "", fmt.Errorf("http1: found a control character in header %q", name)
			}
		}
	}
	if host, err = httpguts.PunycodeHostPort(req.URL.Hostname()); err != nil {
		return to, "", err
	}
	port := req.URL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[req.URL.Scheme]
	}
	return destination{req.URL.Scheme, net.JoinHostPort(host, port)}, host, nil
}

func bodyless(req *http.Request) bool { return req.Body == nil || req.Body == http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// idempotent reports whether a server that gets req twice does what it does once
// (RFC 9110, 9.2.2), by its method or by a header that promises it, as net/http decides.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	_, key := req.Header["Idempotency-Key"]
	_, experimental := req.Header["X-Idempotency-Key"]
	return key || experimental
}

// rewound is req with its body at the start.
func rewound(req *http.Request) (*http.Request, error) {
	if bodyless(req) {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again := *req
	again.Body = body
	return &again, nil
}
