package report

import (
	"maps"
	"strings"
	"testing"
)

func TestWhatAClusterRanIsToldOfItsCells(t *testing.T) {
	const digest = "sha256:9b5e0b5d1f5c7c7f1b6e4f3a2d1c0b9a8f7e6d5c4b3a29181706f5e4d3c2b1a0"
	for name, tt := range map[string]struct {
		kube map[string]any
		want map[string]string
	}{
		"charts, images by name and digest, and the model's commit": {
			map[string]any{
				"charts":     map[string]any{"router": "v0.10.0@" + digest},
				"references": map[string]any{"vllm": "docker.io/vllm/vllm-openai:v0.23.0", "epp": "ghcr.io/llm-d/epp@" + digest, "new": "r/i:1"},
				"images":     map[string]any{"vllm": "docker.io/vllm/vllm-openai@" + digest, "epp": "ghcr.io/llm-d/epp@" + digest, "new": ""},
				"revision":   "0123456789abcdef",
			},
			map[string]string{
				"chart router":     "v0.10.0@" + digest,
				"image of vllm":    "docker.io/vllm/vllm-openai:v0.23.0@" + digest,
				"image of epp":     "ghcr.io/llm-d/epp@" + digest,
				"image of new":     "r/i:1",
				"model Qwen/Qwen3": "0123456789abcdef",
			},
		},
		"a descriptor without the names of its images": {
			map[string]any{"images": map[string]any{"vllm": digest}}, map[string]string{"image of vllm": digest},
		},
		"another target": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			stack := map[string]any{"model": "Qwen/Qwen3"}
			if tt.kube != nil {
				stack["kube"] = tt.kube
			}
			if got := deployed(map[string]any{"stack": stack}); !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheConfigurationNamesEveryVersionThatTheClusterRan(t *testing.T) {
	r := fixture()
	for i := range r.Cells {
		version := "v0.10.0"
		if i == 1 {
			version = "v0.11.0"
		}
		r.Cells[i].Versions["stack"] = map[string]any{"kube": map[string]any{"charts": map[string]any{"router": version}}}
	}
	if page, want := html(t, r), "<tr><td>chart router</td><td>v0.10.0, v0.11.0</td></tr>"; !strings.Contains(page, want) {
		t.Errorf("the page has no %s", want)
	}
}
