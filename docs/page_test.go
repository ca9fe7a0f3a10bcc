package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top of the tree, as seen from here.
const root = ".."

// page is a Markdown file, as far as the tests look at it.
type page struct {
	path    string // from root
	blocks  []block
	spans   []span // inline code
	links   []span // their targets
	anchors map[string]bool
}

// block is a fenced block.
type block struct {
	line     int
	language string
	text     string
	notRun   string // why it is not
	before   string // commands to run first
}

// span is a piece of a line.
type span struct {
	line int
	text string
}

func pages(t *testing.T) []page {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	out := []page{readPage(t, "README.md")}
	for _, name := range names {
		out = append(out, readPage(t, "docs/"+name))
	}
	return out
}

func readPage(t *testing.T, path string) page {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePage(path, string(data))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`^#{1,6} +(.*?) *$`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// parsePage reads a page line by line: fences, comments and headings begin lines in ours.
func parsePage(path, text string) (page, error) {
	p := page{path: path, anchors: make(map[string]bool)}
	lines := strings.Split(text, "\n")
	var comment string
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		first := i + 1
		switch {
		case strings.HasPrefix(line, "<!--"):
			for comment = line; !strings.HasSuffix(comment, "-->"); {
				if i++; i == len(lines) {
					return p, fmt.Errorf("%s:%d: found a comment without an end", path, first)
				}
				comment += "\n" + lines[i]
			}
			continue
		case strings.HasPrefix(line, "```"):
			b := block{line: first, language: strings.TrimPrefix(line, "```")}
			if err := b.mark(comment); err != nil {
				return p, fmt.Errorf("%s:%d: %w", path, first, err)
			}
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
				b.text += lines[i] + "\n"
			}
			if i == len(lines) {
				return p, fmt.Errorf("%s:%d: found a fence without an end", path, first)
			}
			p.blocks = append(p.blocks, b)
		default:
			p.addLine(first, line)
		}
		if line != "" {
			comment = ""
		}
	}
	return p, nil
}

// mark reads the comment before a block.
func (b *block) mark(comment string) error {
	if comment == "" {
		return nil
	}
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(comment, "<!--"), "-->"))
	kind, rest, _ := strings.Cut(text, ":")
	switch rest = strings.TrimSpace(rest); {
	case rest == "":
	case kind == "not run":
		b.notRun = rest
		return nil
	case kind == "before":
		b.before = rest
		return nil
	}
	return fmt.Errorf("found comment %q, expected not run: WHY or before: COMMANDS", text)
}

func (p *page) addLine(number int, line string) {
	if m := heading.FindStringSubmatch(line); m != nil {
		p.addAnchor(m[1])
	}
	for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
		p.spans = append(p.spans, span{number, m[1]})
	}
	for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
		p.links = append(p.links, span{number, m[1]})
	}
}

// addAnchor names a heading as GitHub does.
func (p *page) addAnchor(title string) {
	name := strings.ReplaceAll(strings.ToLower(notAnchor.ReplaceAllString(title, "")), " ", "-")
	anchor := name
	for i := 1; p.anchors[anchor]; i++ {
		anchor = fmt.Sprintf("%s-%d", name, i)
	}
	p.anchors[anchor] = true
}

func TestPagesAreReadAsTheyAreWritten(t *testing.T) {
	p, err := parsePage("toy.md", strings.Join([]string{
		"# One `thing`, two!", "# One thing, two", "See [it](a.md#b) and `bg-gen plan x`; `[no](link)` is code.",
		"<!-- not run: needs", "a cluster -->", "```sh", "echo a", "# no heading", "```",
		"<!-- before: echo b -->", "", "```sh", "echo c", "```", "```", "[no](link)", "```",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !p.anchors["one-thing-two"] || !p.anchors["one-thing-two-1"] || len(p.anchors) != 2 {
		t.Errorf("anchors %v", p.anchors)
	}
	if len(p.links) != 1 || p.links[0] != (span{3, "a.md#b"}) {
		t.Errorf("links %v", p.links)
	}
	if len(p.spans) != 3 || p.spans[1] != (span{3, "bg-gen plan x"}) {
		t.Errorf("spans %v", p.spans)
	}
	want := []block{
		{line: 6, language: "sh", text: "echo a\n# no heading\n", notRun: "needs\na cluster"},
		{line: 12, language: "sh", text: "echo c\n", before: "echo b"},
		{line: 15, text: "[no](link)\n"},
	}
	if len(p.blocks) != 3 || p.blocks[0] != want[0] || p.blocks[1] != want[1] || p.blocks[2] != want[2] {
		t.Errorf("blocks %+v", p.blocks)
	}
}

func TestPagesThatCannotBeReadAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"```sh\necho":                        "toy.md:1: found a fence without an end",
		"<!-- not run":                       "toy.md:1: found a comment without an end",
		"<!-- not run -->\n```sh\necho\n```": `toy.md:2: found comment "not run", expected not run: WHY or before: COMMANDS`,
	} {
		if _, err := parsePage("toy.md", text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
