package tunnel

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// apiServer is as much of one as a tunnel asks: a Service, its pods, and ports that are
// forwarded to a server of the test, the way servers did before they knew WebSockets.
type apiServer struct {
	t    *testing.T
	pods []corev1.Pod
	to   map[string]string // address by pod

	mu          sync.Mutex
	connections []httpstream.Connection
	dialled     []string // pod:port
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const base = "/api/v1/namespaces/monitoring/"
	path := strings.TrimPrefix(r.URL.Path, base)
	switch {
	case path == "services/prometheus":
		s.answer(w, corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "prometheus"},
				Ports:    []corev1.ServicePort{{Name: "web", Port: 9090, TargetPort: intstr.FromString("http")}},
			},
		})
	case path == "pods" && r.URL.Query().Get("labelSelector") == "app=prometheus":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answer(w, corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: s.pods})
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/portforward"):
		s.forward(w, r, strings.TrimSuffix(strings.TrimPrefix(path, "pods/"), "/portforward"))
	default:
		http.Error(w, "no "+r.Method+" "+r.URL.Path, http.StatusNotFound)
	}
}

func (s *apiServer) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

func (s *apiServer) forward(w http.ResponseWriter, r *http.Request, pod string) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		s.t.Error(err)
		return
	}
	c := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
			s.mu.Lock()
			s.dialled = append(s.dialled, pod+":"+stream.Headers().Get(corev1.PortHeader))
			s.mu.Unlock()
			go s.pipe(stream, pod)
		}
		return nil
	})
	if c == nil {
		return
	}
	s.mu.Lock()
	s.connections = append(s.connections, c)
	s.mu.Unlock()
	<-c.CloseChan()
}

func (s *apiServer) pipe(stream httpstream.Stream, pod string) {
	defer stream.Close()
	conn, err := net.Dial("tcp", s.to[pod])
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	go io.Copy(conn, stream)
	io.Copy(stream, conn)
}

// lose cuts all connections, as an API server that restarts does.
func (s *apiServer) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.connections {
		c.Close()
	}
	s.connections = nil
}

func pod(name string, ready bool) corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "monitoring"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8888}}}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}},
	}
}

func answering(t *testing.T, text string) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, text) }))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func get(t *testing.T, tunnel *Tunnel) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Get("http://" + tunnel.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var prometheus = Service{"monitoring", "prometheus", "web"}

func TestATunnelFindsAPodAgainWhenItsConnectionIsLost(t *testing.T) {
	api := &apiServer{t: t, pods: []corev1.Pod{pod("unready", false), pod("first", true)}, to: map[string]string{
		"first": answering(t, "one"), "second": answering(t, "two"),
	}}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	tunnel, err := Open(t.Context(), &rest.Config{Host: server.URL}, prometheus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tunnel.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		if got := get(t, tunnel); got != "one" {
			t.Errorf("found %q, expected what the ready pod says", got)
		}
	}
	api.mu.Lock()
	api.pods = []corev1.Pod{pod("first", false), pod("second", true)}
	api.mu.Unlock()
	api.lose()
	if got := get(t, tunnel); got != "two" {
		t.Errorf("found %q, expected what the pod says that is ready now", got)
	}
	if want := []string{"first:8888", "first:8888", "first:8888", "second:8888"}; strings.Join(api.dialled, " ") != strings.Join(want, " ") {
		t.Errorf("forwarded to %v, expected %v", api.dialled, want)
	}
}

func TestATunnelThatCannotBeOpenedSaysWhy(t *testing.T) {
	api := &apiServer{t: t, pods: []corev1.Pod{pod("unready", false)}}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	for name, tt := range map[string]struct {
		service Service
		want    string
	}{
		"no ready pod":       {prometheus, "service monitoring/prometheus:web: found no ready pod among 1"},
		"no such port":       {Service{"monitoring", "prometheus", "9999"}, "service monitoring/prometheus: found no port 9999 before pods"},
		"no such service":    {Service{"monitoring", "thanos", "9090"}, "finding service monitoring/thanos:9090: "},
		"no such API server": {prometheus, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			config := &rest.Config{Host: server.URL}
			if name == "no such API server" {
				config.Host = "http://127.0.0.1:1"
			}
			if _, err := Open(t.Context(), config, tt.service); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestParseService(t *testing.T) {
	for text, want := range map[string]Service{
		"monitoring/prometheus:9090": {"monitoring", "prometheus", "9090"},
		"monitoring/prometheus:web":  {"monitoring", "prometheus", "web"},
	} {
		if got, err := ParseService(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "prometheus:9090", "monitoring/prometheus", "monitoring/:9090", "/prometheus:9090", "monitoring/prometheus:", "a/b/c:1", "a/b:1:2"} {
		if got, err := ParseService(text); err == nil || !strings.Contains(err.Error(), "expected NAMESPACE/NAME:PORT") {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}
