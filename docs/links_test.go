package docs

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinksLeadSomewhere(t *testing.T) {
	all := make(map[string]page)
	for _, p := range pages(t) {
		all[p.path] = p
	}
	for _, p := range all {
		for _, l := range p.links {
			if strings.Contains(l.text, "://") {
				continue // of others; tests reach nothing outside
			}
			name, anchor, _ := strings.Cut(l.text, "#")
			to := p.path
			if name != "" {
				to = path.Join(path.Dir(p.path), name)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s:%d: found a link to %s, expected a file", p.path, l.line, to)
				continue
			}
			if anchor != "" && !all[to].anchors[anchor] {
				t.Errorf("%s:%d: found a link to %s#%s, expected a heading of that page", p.path, l.line, to, anchor)
			}
		}
	}
}

// TestEveryPageIsFoundFromTheReadme: a page that no other links to is not read.
func TestEveryPageIsFoundFromTheReadme(t *testing.T) {
	all := make(map[string]page)
	for _, p := range pages(t) {
		all[p.path] = p
	}
	found := map[string]bool{"README.md": true}
	for next := []string{"README.md"}; len(next) > 0; next = next[1:] {
		for _, l := range all[next[0]].links {
			name, _, _ := strings.Cut(l.text, "#")
			to := path.Join(path.Dir(next[0]), name)
			if _, ok := all[to]; ok && !found[to] {
				found[to] = true
				next = append(next, to)
			}
		}
	}
	for name := range all {
		if !found[name] {
			t.Errorf("%s: found no way to it from README.md", name)
		}
	}
}
