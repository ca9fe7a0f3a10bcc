package kube

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

//go:embed schema/*.keys
var schemas embed.FS

// knownVersions are the versions of a chart of which we have the keys.
func (c Chart) knownVersions() ([]string, error) {
	files, err := fs.Glob(schemas, "schema/"+c.Name+"-v*.keys")
	for i, file := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(path.Base(file), c.Name+"-"), ".keys")
	}
	return files, err
}

// checkVersion reports the first value that this version of the chart has no key for, or
// of another type: a chart ignores a key that it does not know, so that nothing else would
// tell. checked is false for a version of which we have no keys.
func (c Chart) checkVersion(version string) (checked bool, err error) {
	versions, err := c.knownVersions()
	version = "v" + strings.TrimPrefix(version, "v") // charts are tagged either way
	if err != nil || !slices.Contains(versions, version) {
		return false, err
	}
	text, err := schemas.ReadFile("schema/" + c.Name + "-" + version + ".keys")
	if err != nil {
		return false, err
	}
	known := map[string]string{} // path -> type
	for line := range strings.Lines(string(text)) {
		if path, kind, ok := strings.Cut(strings.TrimSpace(line), " "); ok && path != "#" {
			known[path] = kind
		}
	}
	return true, checkValues(c.Name, known, nil, c.Values)
}

// checkLoaded holds the values against the chart that was loaded, whatever was asked for.
// A version of which we have no keys is not refused, for that would end all development
// against checkouts: the warning names it, and the keys that its own values do not have.
func (c Chart) checkLoaded(loaded *chart.Chart) (warning string, err error) {
	checked, err := c.checkVersion(loaded.Metadata.Version)
	if checked || err != nil {
		return "", err
	}
	versions, err := c.knownVersions()
	if err != nil {
		return "", err
	}
	own, err := chartutil.MergeValues(loaded, nil)
	if err != nil {
		return "", fmt.Errorf("values of chart %s: %w", c.Name, err)
	}
	warning = fmt.Sprintf("chart %s: found version %s, and the keys of %s alone are known: one that the chart does not have would be ignored",
		c.Name, loaded.Metadata.Version, strings.Join(versions, ", "))
	if strange := strangeKeys(own, nil, c.Values); len(strange) > 0 {
		warning += "; its own values have no " + strings.Join(strange, ", ")
	}
	return warning, nil
}

// strangeKeys are the paths of values that a chart's own values do not have. What they
// have empty takes anything.
func strangeKeys(own map[string]any, path []string, values map[string]any) []string {
	var strange []string
	for _, k := range keys(values) {
		here := append(slices.Clip(path), k)
		has, ok := own[k]
		if !ok {
			strange = append(strange, strings.Join(here, "."))
			continue
		}
		inner, isMap := values[k].(map[string]any)
		if ownInner, ok := has.(map[string]any); ok && isMap && len(ownInner) > 0 {
			strange = append(strange, strangeKeys(ownInner, here, inner)...)
		}
	}
	return strange
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
