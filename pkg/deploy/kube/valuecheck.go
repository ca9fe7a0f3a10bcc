package kube

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed schema/*.keys
var schemas embed.FS

// schemaOf names the list of keys that the values of a chart are held against: that of
// the version which this package was written for. A chart ignores a key that it does not
// know, so that nothing else would tell.
var schemaOf = map[string]string{
	chartRouter:        "schema/router-v0.10.0.keys",
	chartRouterGateway: "schema/router-gateway-v0.10.0.keys",
	chartBatchGateway:  "schema/batch-gateway-v0.6.0.keys",
	chartAsync:         "schema/async-v0.10.0.keys",
}

// check reports the first value that the chart has no key for, or of another type.
func (c Chart) check() error {
	file := schemaOf[c.Name]
	text, err := schemas.ReadFile(file)
	if err != nil {
		return err
	}
	known := map[string]string{} // path -> type
	for line := range strings.Lines(string(text)) {
		if path, kind, ok := strings.Cut(strings.TrimSpace(line), " "); ok && path != "#" {
			known[path] = kind
		}
	}
	return checkValues(c.Name, known, nil, c.Values)
}

func checkValues(chart string, known map[string]string, path []string, value any) error {
	if kind, ok := lookUp(known, path); ok {
		if !isOf(kind, value) {
			return fmt.Errorf("values of chart %s: %s: found %T, expected %s", chart, strings.Join(path, "."), value, kind)
		}
		return nil
	}
	m, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("values of chart %s: %s: found a key that the chart does not have", chart, strings.Join(path, "."))
	}
	for _, k := range keys(m) {
		if err := checkValues(chart, known, append(slices.Clip(path), k), m[k]); err != nil {
			return err
		}
	}
	return nil
}

// lookUp finds the type of a path, in which a * of the list stands for any one key.
func lookUp(known map[string]string, path []string) (kind string, ok bool) {
	for pattern, kind := range known {
		parts := strings.Split(pattern, ".")
		if len(parts) == len(path) && !slices.ContainsFunc(path, func(p string) bool { return p == "" }) && matches(parts, path) {
			return kind, true
		}
	}
	return "", false
}

func matches(pattern, path []string) bool {
	for i, p := range pattern {
		if p != "*" && p != path[i] {
			return false
		}
	}
	return true
}

func isOf(kind string, value any) bool {
	switch value.(type) {
	case string:
		return kind == "string" || kind == "scalar"
	case bool:
		return kind == "bool" || kind == "scalar"
	case int:
		return kind == "int" || kind == "number" || kind == "scalar"
	case float64:
		return kind == "number" || kind == "scalar"
	case []any:
		return kind == "list"
	case map[string]any:
		return kind == "map"
	}
	return false
}
