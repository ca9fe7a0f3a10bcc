package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
)

const admission = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: max-score-picker
- type: inflight-load-producer
- name: saturation
  type: concurrency-detector
  parameters: {concurrencyMode: requests, maxConcurrency: 1}
schedulingProfiles:
- name: default
  plugins: [{pluginRef: max-score-picker}]
flowControl:
  saturationDetector: {pluginRef: saturation}
`

// startProxy serves a router before the model server that handler is.
func startProxy(t *testing.T, config string, handler http.Handler) *httptest.Server {
	t.Helper()
	upstream := httptest.NewServer(handler)
	k := kernel.NewWall()
	proxy := NewProxy(k, upstream.Client())
	var err error
	proxy.Router, err = router.New(k, router.Config{
		EndpointPicker: config, Objectives: map[string]int{"batch": -1, "chat": 100}, Pool: "pool",
	}, []router.Endpoint{proxy.Endpoint("one", upstream.URL, nil)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		k.Run(ctx) // ends by the cancellation below
	}()
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.Close()
		stop()
		<-stopped
		upstream.Close()
	})
	return server
}

func sendThrough(t *testing.T, url, objective, body string) (status int, header http.Header, answer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-gateway-inference-objective", objective)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

const proxied = `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":3, "unknown": "stays"}`

func TestAProxyPassesRequestAndAnswerAsTheyAre(t *testing.T) {
	server := startProxy(t, admission, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("x-inference-pod", "pod-1")
		w.WriteHeader(http.StatusTeapot)
		w.Write(append([]byte(r.Header.Get("x-request-id")+" "), body...))
	}))
	status, header, answer := sendThrough(t, server.URL, "chat", proxied)
	id, body, _ := strings.Cut(answer, " ")
	if status != http.StatusTeapot || header.Get("x-inference-pod") != "pod-1" || body != proxied || id == "" {
		t.Errorf("got %d %v %q", status, header, answer)
	}
}

func TestAProxyRefusesBatchWhileThePoolIsFull(t *testing.T) {
	running, finish := make(chan struct{}), make(chan struct{})
	server := startProxy(t, admission, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running <- struct{}{}
		<-finish
	}))
	first := make(chan int, 1)
	go func() {
		status, _, _ := sendThrough(t, server.URL, "chat", proxied)
		first <- status
	}()
	<-running
	status, _, answer := sendThrough(t, server.URL, "batch", proxied)
	if status != http.StatusTooManyRequests || !strings.Contains(answer, "system saturated") {
		t.Errorf("got %d %q", status, answer)
	}
	close(finish)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the running request got %d", status)
	}
}

func TestAProxyAnswersABodyThatIsNoRequest(t *testing.T) {
	server := startProxy(t, admission, http.NotFoundHandler())
	if status, _, answer := sendThrough(t, server.URL, "chat", "{"); status != http.StatusBadRequest || !strings.Contains(answer, "error unmarshaling request bodyMap") {
		t.Errorf("got %d %q", status, answer)
	}
}

func TestAProxyWhoseServerIsAwayAnswersAsEnvoyDoes(t *testing.T) {
	server := startProxy(t, admission, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	if status, _, answer := sendThrough(t, server.URL, "chat", proxied); status != http.StatusServiceUnavailable || !strings.HasPrefix(answer, "upstream connect error") {
		t.Errorf("got %d %q", status, answer)
	}
}

func TestAClientThatGoesAwayAbortsItsRequest(t *testing.T) {
	running, aborted := make(chan struct{}), make(chan struct{})
	server := startProxy(t, admission, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(running)
		<-r.Context().Done()
		close(aborted)
	}))
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(proxied))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-running
		leave()
	}()
	if response, err := http.DefaultClient.Do(request); err == nil {
		response.Body.Close()
		t.Error("an answer came")
	}
	<-aborted
}
