package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

func TestOneChartOrImageIsReplaced(t *testing.T) {
	v, err := LoadVersions("", []string{"router=./charts/router", "async=oci://localhost:5000/llm-d-async@v9.9.9"},
		[]string{"vllm=registry:5000/vllm:x", "redis=registry:5000/redis@sha256:abc"})
	if err != nil {
		t.Fatal(err)
	}
	if c := v.Charts["router"]; c.Ref != "./charts/router" || c.Version != "" || c.remote() {
		t.Errorf("router: %+v", c)
	}
	if c := v.Charts["async"]; c.Ref != "oci://localhost:5000/llm-d-async" || c.Version != "v9.9.9" {
		t.Errorf("async: %+v", c)
	}
	if got := v.Images["vllm"].String() + " " + v.Images["redis"].String(); got != "registry:5000/vllm:x registry:5000/redis@sha256:abc" {
		t.Error(got)
	}
}

func TestWhatIsNotPinnedIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v.yaml")
	for name, tt := range map[string]struct {
		text           string
		charts, images []string
		want           string
	}{
		"a tag that moves":           {"", nil, []string{"vllm=vllm:latest"}, "images.vllm: found vllm:latest, expected a tag that stays what it is, or a digest"},
		"an image without a tag":     {"", nil, []string{"vllm=registry:5000/vllm"}, `--image vllm: found "registry:5000/vllm", expected REPOSITORY:TAG or REPOSITORY@DIGEST`},
		"an image that nobody has":   {"", nil, []string{"vlm=a:b"}, `--image: found "vlm", expected one of async, batch-apiserver`},
		"a chart without a version":  {"", []string{"router=oci://r/c"}, nil, "charts.router: found oci://r/c without a version"},
		"a change that says nothing": {"", []string{"router"}, nil, `--chart: found "router", expected NAME=VALUE`},
		"a file without charts":      {"images: {}\n", nil, nil, "charts.router: found none, expected a chart"},
		"a file with another key":    {"chart: {}\n", nil, nil, `unknown field "chart"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := ""
			if tt.text != "" {
				path = file
				if err := os.WriteFile(file, []byte(tt.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := LoadVersions(path, tt.charts, tt.images)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAValueThatTheChartHasNoKeyForIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		values map[string]any
		want   string
	}{
		"the place where the key was before v0.9": {
			map[string]any{"inferenceExtension": map[string]any{"pluginsConfigFile": "x"}},
			"values of chart router: inferenceExtension.pluginsConfigFile: found a key that the chart does not have",
		},
		"a number where a text is due": {
			map[string]any{"router": map[string]any{"epp": map[string]any{"image": map[string]any{"tag": 1}}}},
			"values of chart router: router.epp.image.tag: found int, expected string",
		},
		"any name where the chart takes any": {
			map[string]any{"router": map[string]any{"epp": map[string]any{"flags": map[string]any{"allow-experimental-plugins": true}}}}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checked, err := Chart{Name: chartRouter, Values: tt.values}.checkVersion("0.10.0")
			if !checked {
				t.Error("found no keys of v0.10.0")
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestValuesAreHeldAgainstTheKeysOfTheVersionThatWasLoaded(t *testing.T) {
	old := map[string]any{"inferenceExtension": map[string]any{"pluginsConfigFile": "x"}}
	for name, tt := range map[string]struct {
		version       string
		own           map[string]any
		values        map[string]any
		warning, fail string
	}{
		"a version that is known": {"v0.10.0", nil, map[string]any{"router": map[string]any{"epp": map[string]any{"replicas": 1}}}, "", ""},
		"a known version that lost a key": {"v0.10.0", old, old, "",
			"values of chart router: inferenceExtension.pluginsConfigFile: found a key that the chart does not have"},
		"another version, which has every key": {"v0.8.0", old, old,
			"chart router: found version v0.8.0, and the keys of v0.10.0 alone are known: one that the chart does not have would be ignored", ""},
		"another version, which has one key of two, and takes any flag": {"0.11.0-dev",
			map[string]any{"epp": map[string]any{"flags": map[string]any{}, "image": nil}},
			map[string]any{"epp": map[string]any{"flags": map[string]any{"v": 2}, "image": map[string]any{"tag": "x"}, "replicas": 1}},
			"chart router: found version 0.11.0-dev, and the keys of v0.10.0 alone are known: one that the chart does not have would be ignored" +
				"; its own values have no epp.replicas", ""},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := &chart.Chart{Metadata: &chart.Metadata{Name: "r", Version: tt.version}, Values: tt.own}
			warning, err := Chart{Name: chartRouter, Version: ChartVersion{Version: "v0.10.0"}, Values: tt.values}.checkLoaded(loaded)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if warning != tt.warning || text != tt.fail {
				t.Errorf("got warning %q and error %q", warning, text)
			}
		})
	}
}

func TestThePinnedChartsAreOfVersionsWhoseKeysAreKnown(t *testing.T) {
	v, err := LoadVersions("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, pinned := range v.Charts {
		if checked, err := (Chart{Name: name}).checkVersion(pinned.Version); !checked || err != nil {
			t.Errorf("%s %s: checked %t, %v", name, pinned.Version, checked, err)
		}
	}
}
