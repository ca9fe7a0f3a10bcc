package kube

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/registry"
)

// chartRegistry is an OCI registry of charts, on loopback and without TLS. Everybody may
// read, nobody may write.
type chartRegistry struct {
	Host  string
	blobs map[string]blob   // by digest
	tags  map[string]string // NAME:TAG -> digest
}

type blob struct {
	mediaType string
	content   []byte
}

// serveCharts packs the charts in folders and serves them as charts/NAME, with the
// versions that their files say.
func serveCharts(folders ...string) (*chartRegistry, func(), error) {
	r := &chartRegistry{blobs: map[string]blob{}, tags: map[string]string{}}
	for _, folder := range folders {
		if err := r.add(folder); err != nil {
			return nil, nil, err
		}
	}
	server := httptest.NewServer(http.HandlerFunc(r.serve))
	r.Host = strings.TrimPrefix(server.URL, "http://")
	return r, server.Close, nil
}

// Ref is the chart as --chart takes it.
func (r *chartRegistry) Ref(name, version string) string {
	return fmt.Sprintf("oci://%s/charts/%s@%s", r.Host, name, version)
}

func (r *chartRegistry) put(mediaType string, content []byte) map[string]any {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	r.blobs[digest] = blob{mediaType, content}
	return map[string]any{"mediaType": mediaType, "digest": digest, "size": len(content)}
}

func (r *chartRegistry) add(folder string) error {
	c, err := loader.Load(folder)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "charts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := chartutil.Save(c, dir)
	if err != nil {
		return err
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return r.push(c.Metadata, packed)
}

func (r *chartRegistry) push(m *chart.Metadata, packed []byte) error {
	config, err := json.Marshal(m)
	if err != nil {
		return err
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": r.put(registry.ConfigMediaType, config),
		"layers": []any{r.put(registry.ChartLayerMediaType, packed)},
	})
	if err != nil {
		return err
	}
	r.tags[m.Name+":"+m.Version] = r.put(manifestType, manifest)["digest"].(string)
	return nil
}

// serve answers /v2/charts/NAME/manifests/TAG-or-DIGEST and /v2/charts/NAME/blobs/DIGEST.
func (r *chartRegistry) serve(w http.ResponseWriter, q *http.Request) {
	path := strings.TrimPrefix(q.URL.Path, "/v2/charts/")
	name, rest, _ := strings.Cut(path, "/")
	_, reference, _ := strings.Cut(rest, "/")
	digest := reference
	if tagged, ok := r.tags[name+":"+reference]; ok {
		digest = tagged
	}
	b, ok := r.blobs[digest]
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"no %s %s here"}]}`, name, reference)
		return
	}
	w.Header().Set("Content-Type", b.mediaType)
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeContent(w, q, "", time.Time{}, strings.NewReader(string(b.content)))
}

func testRegistry(t *testing.T, folders ...string) *chartRegistry {
	t.Helper()
	r, end, err := serveCharts(folders...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return r
}

func TestAChartIsPulledFromARegistry(t *testing.T) {
	r := testRegistry(t, filepath.Join("..", "kubetest", "charts", "router"))
	c, err := cellOf(t, "s4-flow-control-aimd", Options{Registry: Registry{PlainHTTP: true}})
	if err != nil {
		t.Fatal(err)
	}
	version := c.Versions.Charts[chartRouter].Version
	from := func(ref string) ([]Step, error) {
		chart, err := c.routerChart()
		if err != nil {
			t.Fatal(err)
		}
		v, err := LoadVersions("", []string{"router=" + ref}, nil)
		if err != nil {
			t.Fatal(err)
		}
		chart.Version = v.Charts[chartRouter]
		return c.expand(t.Context(), []Step{{Name: "router chart", Chart: &chart}}, "v1.34.4")
	}
	steps, err := from(r.Ref("llm-d-router-standalone", version))
	if err != nil {
		t.Fatal(err)
	}
	var pools int
	for _, o := range steps[0].Objects {
		if o.GetKind() == kindPool.Kind && o.GetNamespace() == c.Namespace {
			pools++
		}
	}
	if pools != 1 {
		t.Errorf("found %d pools, expected one", pools)
	}
	if want := version + "@" + r.tags["llm-d-router-standalone:"+version]; steps[0].Chart.Loaded != want {
		t.Errorf("found %s, expected %s", steps[0].Chart.Loaded, want)
	}
	if _, err := from(r.Ref("llm-d-router-standalone", "v9.9.9")); err == nil || !strings.Contains(err.Error(), "pulling chart oci://"+r.Host+"/charts/llm-d-router-standalone v9.9.9: ") || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a version that is not there: %v", err)
	}
	if _, err := from("oci://localhost:1/charts/llm-d-router-standalone@" + version); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a registry that is not there: %v", err)
	}
}
