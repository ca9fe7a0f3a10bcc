package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// apiServer answers what is read of it: its kinds and its objects. Other requests are
// refused and kept.
type apiServer struct {
	pages   map[string]any // by path
	refused []string
}

// clusterWith is a connection to an API server with objects and, beside the kinds that
// every one has, the given ones.
func clusterWith(t *testing.T, kinds []schema.GroupVersionKind, objects ...*unstructured.Unstructured) (*Cluster, *apiServer) {
	t.Helper()
	s := &apiServer{pages: map[string]any{
		"/version": map[string]any{"gitVersion": "v1.34.4"},
		"/api":     metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
	}}
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	served := map[schema.GroupVersion][]metav1.APIResource{}
	for _, k := range append(kinds, kindPod, kindNamespace, kindEvent) {
		gv := k.GroupVersion()
		if _, ok := served[gv]; !ok && gv.Group != "" {
			version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
		served[gv] = append(served[gv], metav1.APIResource{Name: plural(k), Kind: k.Kind, Namespaced: k != kindNamespace, Verbs: metav1.Verbs{"get", "list"}})
		s.pages[path.Join(root(gv), "namespaces/ns", plural(k))] = &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": gv.String(), "kind": k.Kind + "List"}}
	}
	s.pages["/apis"] = groups
	for gv, resources := range served {
		s.pages[root(gv)] = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: resources}
	}
	for _, o := range objects {
		all := path.Join(root(o.GroupVersionKind().GroupVersion()), "namespaces", o.GetNamespace(), plural(o.GroupVersionKind()))
		list := s.pages[all].(*unstructured.UnstructuredList)
		list.Items = append(list.Items, *o)
		s.pages[path.Join(all, o.GetName())] = o
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := connect(&rest.Config{Host: server.URL}, "")
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func plural(k schema.GroupVersionKind) string { return strings.ToLower(k.Kind) + "s" }

func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	page, ok := s.pages[r.URL.Path]
	switch {
	case r.Method != http.MethodGet:
		s.refused = append(s.refused, r.Method+" "+r.URL.Path)
		w.WriteHeader(http.StatusForbidden)
		page = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden}
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		page = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	}
	if err := json.NewEncoder(w).Encode(page); err != nil {
		panic(err) // plain data
	}
}
