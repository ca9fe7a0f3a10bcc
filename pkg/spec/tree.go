package spec

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// tree is a YAML value that remembers where each part of it was written, so that
// layers can be laid over each other and an error still names its line.
type tree struct {
	at   origin
	form form
	// keys holds the keys of a mapping in the order of the file.
	keys   []string
	fields map[string]*tree
	items  []*tree
	// scalar is a string, int64, uint64, float64, bool or nil; text is how it was written.
	scalar any
	text   string
}

type form uint8

const (
	scalarForm form = iota
	mappingForm
	sequenceForm
)

func (f form) String() string {
	return [...]string{"a single value", "a mapping", "a list"}[f]
}

// origin is where a part of a tree was written: a line of a file, or an assignment
// on the command line.
type origin struct {
	file       string
	line       int
	assignment string
	sweep      string // the key of the sweep whose value it is
}

func (o origin) String() string {
	if o.assignment != "" {
		return "--set " + o.assignment
	}
	return fmt.Sprintf("%s:%d", o.file, o.line)
}

// maxDepth is far above what a spec needs and far below what exhausts the stack.
const maxDepth = 32

// parseTree parses one YAML document. The lines of its parts are those of file;
// an assignment in at overrides them.
func parseTree(data []byte, at origin) (*tree, error) {
	if !utf8.Valid(data) {
		at.line = 1 + bytes.Count(data[:invalidAt(data)], []byte{'\n'})
		return nil, fmt.Errorf("%s: found bytes that are not UTF-8, expected text", at)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) && syntax.Token != nil {
			at.line = syntax.Token.Position.Line
			return nil, fmt.Errorf("%s: %s", at, syntax.Message)
		}
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			at.line = lineOf(doc.Body)
			return nil, fmt.Errorf("%s: found a second YAML document, expected one", at)
		}
		body = doc.Body
	}
	if body == nil {
		at.line = 1
		return nil, fmt.Errorf("%s: found no YAML, expected a mapping", at)
	}
	return buildTree(body, at, 0)
}

// invalidAt is the length of the part of data that is UTF-8.
func invalidAt(data []byte) int {
	n := 0
	for {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size <= 1 {
			return n
		}
		n += size
	}
}

var exponent = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

func buildTree(n ast.Node, at origin, depth int) (*tree, error) {
	if n == nil {
		return &tree{at: at}, nil
	}
	at.line = lineOf(n)
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: found more than %d levels of nesting", at, maxDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return buildMapping(n.Values, at, depth)
	case *ast.MappingValueNode:
		return buildMapping([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		t := &tree{at: at, form: sequenceForm}
		for _, value := range n.Values {
			item, err := buildTree(value, at, depth+1)
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, item)
		}
		return t, nil
	case *ast.LiteralNode:
		return &tree{at: at, scalar: n.Value.Value, text: n.Value.Value}, nil
	case *ast.StringNode:
		t := &tree{at: at, scalar: n.Value, text: n.Value}
		// YAML 1.2 has 1e-7 be a number; goccy/go-yaml v1.19 writes it but reads text.
		if n.Token.Type == token.StringType && exponent.MatchString(n.Value) {
			if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
				t.scalar = f
			}
		}
		return t, nil
	case *ast.NullNode:
		return &tree{at: at}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &tree{at: at, scalar: n.(ast.ScalarNode).GetValue(), text: scalarText(n.GetToken())}, nil
	}
	// Anchors and aliases can grow without bound and merge keys hide where a value
	// comes from; extends and --set do what they would be used for.
	return nil, fmt.Errorf("%s: found YAML's %s, expected plain mappings, lists and values", at, strings.ToLower(n.Type().String()))
}

func scalarText(t *token.Token) string { return strings.TrimSpace(t.Value) }

func buildMapping(values []*ast.MappingValueNode, at origin, depth int) (*tree, error) {
	t := &tree{at: at, form: mappingForm, fields: map[string]*tree{}}
	for i, v := range values {
		key := at
		key.line = lineOf(v.Key)
		if i == 0 {
			t.at = key
		}
		name, err := keyName(v.Key, key)
		if err != nil {
			return nil, err
		}
		if _, ok := t.fields[name]; ok {
			return nil, fmt.Errorf("%s: found key %q twice", key, name)
		}
		value, err := buildTree(v.Value, key, depth+1)
		if err != nil {
			return nil, err
		}
		// A value stands on the line of its key as far as a reader is concerned.
		value.at = key
		t.put(name, value)
	}
	return t, nil
}

func keyName(n ast.MapKeyNode, at origin) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.BoolNode, *ast.FloatNode:
		return scalarText(n.GetToken()), nil
	}
	return "", fmt.Errorf("%s: found a key that is YAML's %s, expected a plain word", at, strings.ToLower(n.Type().String()))
}

// put sets a field of a mapping.
func (t *tree) put(key string, value *tree) {
	if _, ok := t.fields[key]; !ok {
		t.keys = append(t.keys, key)
	}
	t.fields[key] = value
}

// take removes a field of a mapping and returns it, nil if it was not there.
func (t *tree) take(key string) *tree {
	value, ok := t.fields[key]
	if !ok {
		return nil
	}
	delete(t.fields, key)
	t.keys = slices.DeleteFunc(t.keys, func(k string) bool { return k == key })
	return value
}

// overlay lays over on top of t: mappings are merged key by key, everything else
// is replaced whole. Neither argument is used afterwards.
func (t *tree) overlay(over *tree) *tree {
	if t == nil || t.form != mappingForm || over.form != mappingForm {
		return over
	}
	for _, key := range over.keys {
		t.put(key, t.fields[key].overlay(over.fields[key]))
	}
	return t
}

// set lays value over the part of t that path leads to. Keys that are not there
// are made, for decode to refuse with the nearest known one.
func (t *tree) set(path []string, value *tree) (*tree, error) {
	if len(path) == 0 {
		return t.overlay(value), nil
	}
	if t != nil && t.form == sequenceForm {
		i, err := t.index(path[0])
		if err != nil {
			return nil, err
		}
		t.items[i], err = t.items[i].set(path[1:], value)
		return t, err
	}
	if t == nil || t.form != mappingForm {
		t = &tree{at: value.at, form: mappingForm, fields: map[string]*tree{}}
	}
	field, err := t.fields[path[0]].set(path[1:], value)
	if err != nil {
		return nil, err
	}
	t.put(path[0], field)
	return t, nil
}

// index finds an item of a list by its number or, where items have names, its name.
func (t *tree) index(segment string) (int, error) {
	var names []string
	for i, item := range t.items {
		name := item.fields["name"]
		if name == nil {
			continue
		}
		if name.text == segment {
			return i, nil
		}
		names = append(names, name.text)
	}
	i, err := strconv.Atoi(segment)
	if err == nil && i >= 0 && i < len(t.items) {
		return i, nil
	}
	expected := "an empty list"
	if n := len(t.items); n > 0 {
		expected = fmt.Sprintf("0 to %d", n-1)
	}
	if len(names) > 0 {
		expected += " or one of " + strings.Join(names, ", ")
	}
	return 0, fmt.Errorf("found list index %q, expected %s", segment, expected)
}

// textTree is text that stands at a place.
func textTree(text string, at origin) *tree { return &tree{at: at, scalar: text, text: text} }

// field is a key of a mapping and its value.
type field struct {
	key   string
	value *tree
}

// mappingTree is a mapping that stands at a place.
func mappingTree(at origin, fields ...field) *tree {
	t := &tree{at: at, form: mappingForm, fields: map[string]*tree{}}
	for _, f := range fields {
		t.put(f.key, f.value)
	}
	return t
}

// scalarText is how a single value was written, empty where there is none.
func (t *tree) scalarText() string {
	if t == nil {
		return ""
	}
	return t.text
}
