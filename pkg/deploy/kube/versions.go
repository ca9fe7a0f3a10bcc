package kube

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"bgbench/pkg/cli"
)

// Versions pin everything that a cluster runs.
type Versions struct {
	Charts map[string]ChartVersion `yaml:"charts" json:"charts"`
	Images map[string]Image        `yaml:"images" json:"images"`
	Models map[string]string       `yaml:"models" json:"models"` // name -> commit
}

// ChartVersion is where a chart comes from: an OCI reference with a version, or a
// folder or archive.
type ChartVersion struct {
	Ref     string `yaml:"ref" json:"ref"`
	Version string `yaml:"version,omitempty" json:"version,omitempty"`
}

// Image is a container image.
type Image struct {
	Repository string `yaml:"repository" json:"repository"`
	Tag        string `yaml:"tag" json:"tag,omitempty"`
	Digest     string `yaml:"digest,omitempty" json:"digest,omitempty"` // sha256:…
}

// String is the image as a pod names it.
func (i Image) String() string {
	if i.Digest != "" {
		return i.Repository + "@" + i.Digest
	}
	return i.Repository + ":" + i.Tag
}

// Names of charts and images in Versions.
const (
	chartRouter        = "router"
	chartRouterGateway = "router-gateway"
	chartBatchGateway  = "batch-gateway"
	chartAsync         = "async"

	imageVLLM           = "vllm"
	imageInferenceSim   = "inference-sim"
	imageEndpointPicker = "endpoint-picker"
	imageEnvoy          = "envoy"
	imageAPIServer      = "batch-apiserver"
	imageProcessor      = "batch-processor"
	imageAsync          = "async"
	imageRedis          = "redis"
	imagePostgreSQL     = "postgresql"
	imageTools          = "bgbench"
)

//go:embed versions.yaml
var defaultVersions []byte

// LoadVersions reads the file of that name, or the versions that this tool was built
// with when it is empty, and changes them: charts are NAME=PATH or NAME=REF@VERSION,
// images NAME=REPOSITORY[:TAG][@DIGEST].
func LoadVersions(file string, charts, images []string) (Versions, error) {
	text, name := defaultVersions, "versions.yaml"
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return Versions{}, fmt.Errorf("reading versions: %w", err)
		}
		name = file
	}
	var v Versions
	if err := yaml.UnmarshalWithOptions(text, &v, yaml.Strict()); err != nil {
		return Versions{}, fmt.Errorf("%s: %w", name, err)
	}
	for _, change := range charts {
		name, ref, err := v.change("chart", change, keys(v.Charts))
		if err != nil {
			return Versions{}, err
		}
		chart := ChartVersion{Ref: ref}
		if at := strings.LastIndexByte(ref, '@'); at >= 0 {
			chart = ChartVersion{Ref: ref[:at], Version: ref[at+1:]}
		}
		v.Charts[name] = chart
	}
	for _, change := range images {
		name, ref, err := v.change("image", change, keys(v.Images))
		if err != nil {
			return Versions{}, err
		}
		image, err := parseImage(ref)
		if err != nil {
			return Versions{}, fmt.Errorf("--image %s: %w", name, err)
		}
		v.Images[name] = image
	}
	return v, v.check(name)
}

func (v Versions) change(what, text string, known []string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || value == "" {
		return "", "", fmt.Errorf("--%s: found %q, expected NAME=VALUE", what, text)
	}
	if !slices.Contains(known, name) {
		return "", "", fmt.Errorf("--%s: found %q, expected one of %s", what, name, strings.Join(known, ", "))
	}
	return name, value, nil
}

// check reports what is not pinned.
func (v Versions) check(file string) error {
	for _, name := range []string{chartRouter, chartRouterGateway, chartBatchGateway, chartAsync} {
		c, ok := v.Charts[name]
		if !ok || c.Ref == "" {
			return fmt.Errorf("%s: charts.%s: found none, expected a chart", file, name)
		}
		if c.remote() && c.Version == "" {
			return cli.WithHint(fmt.Errorf("%s: charts.%s: found %s without a version", file, name, c.Ref), "write it as REF@VERSION")
		}
	}
	for _, name := range allImages() {
		i, ok := v.Images[name]
		if !ok || i.Repository == "" {
			return fmt.Errorf("%s: images.%s: found none, expected an image", file, name)
		}
		if i.Digest == "" && (i.Tag == "" || i.Tag == "latest") {
			return fmt.Errorf("%s: images.%s: found %s, expected a tag that stays what it is, or a digest", file, name, i)
		}
	}
	return nil
}

func allImages() []string {
	return []string{
		imageVLLM, imageInferenceSim, imageEndpointPicker, imageEnvoy, imageAPIServer,
		imageProcessor, imageAsync, imageRedis, imagePostgreSQL, imageTools,
	}
}

func (c ChartVersion) remote() bool { return strings.HasPrefix(c.Ref, "oci://") }

func parseImage(text string) (Image, error) {
	var i Image
	text, i.Digest, _ = strings.Cut(text, "@")
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, '/') {
		text, i.Tag = text[:colon], text[colon+1:]
	}
	i.Repository = text
	if text == "" || i.Tag == "" && i.Digest == "" {
		return Image{}, fmt.Errorf("found %q, expected REPOSITORY:TAG or REPOSITORY@DIGEST", text)
	}
	return i, nil
}

func keys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
