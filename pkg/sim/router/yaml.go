package router

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// value is a part of a YAML document that remembers its line.
type value struct {
	line   int
	form   form
	keys   []string // of a mapping, in the order of the file
	fields map[string]*value
	items  []*value // of a list
	scalar any      // string, int64, uint64, float64, bool or nil
}

type form uint8

const (
	scalarForm form = iota
	mappingForm
	listForm
)

// jsonType is what encoding/json calls a value in its errors.
func (v *value) jsonType() string {
	switch v.form {
	case mappingForm:
		return "object"
	case listForm:
		return "array"
	}
	switch v.scalar.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case nil:
		return "null"
	}
	return "number"
}

func (v *value) isNull() bool { return v.form == scalarForm && v.scalar == nil }

// maxNesting is far above what a configuration needs.
const maxNesting = 32

// parseYAML reads one YAML document.
func parseYAML(text string) (*value, error) {
	syntaxError := func(line int, format string, args ...any) error {
		return &StartupError{
			Line:   line,
			Text:   phaseDecode + "yaml: " + fmt.Sprintf(format, args...),
			Advice: "mend the YAML there; indentation and brackets are the usual suspects",
		}
	}
	if !utf8.ValidString(text) {
		return nil, syntaxError(1, "invalid UTF-8")
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) && syntax.Token != nil {
			return nil, syntaxError(syntax.Token.Position.Line, "%s", syntax.Message)
		}
		return nil, syntaxError(0, "%v", err)
	}
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			b := yamlBuilder{anchors: map[string]*value{}}
			root := b.build(doc.Body, 0)
			if b.err != nil {
				return nil, syntaxError(b.line, "%v", b.err)
			}
			return root, nil
		}
	}
	return nil, syntaxError(1, "found no document")
}

// yamlBuilder turns syntax into values and keeps the first error.
type yamlBuilder struct {
	anchors map[string]*value
	err     error
	line    int
}

func (b *yamlBuilder) fail(line int, format string, args ...any) *value {
	if b.err == nil {
		b.err, b.line = fmt.Errorf(format, args...), line
	}
	return &value{line: line}
}

func (b *yamlBuilder) build(n ast.Node, depth int) *value {
	if n == nil {
		return &value{}
	}
	line := lineOf(n)
	if depth > maxNesting {
		return b.fail(line, "more than %d levels of nesting", maxNesting)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(n.Values, line, depth)
	case *ast.MappingValueNode:
		return b.mapping([]*ast.MappingValueNode{n}, line, depth)
	case *ast.SequenceNode:
		v := &value{line: line, form: listForm}
		for _, item := range n.Values {
			v.items = append(v.items, b.build(item, depth+1))
		}
		return v
	case *ast.AnchorNode:
		v := b.build(n.Value, depth+1)
		b.anchors[n.Name.String()] = v
		return v
	case *ast.AliasNode:
		if v, ok := b.anchors[n.Value.String()]; ok {
			return v
		}
		return b.fail(line, "unknown anchor '%s' referenced", n.Value)
	case *ast.LiteralNode:
		return &value{line: line, scalar: n.Value.Value}
	case *ast.StringNode:
		return &value{line: line, scalar: plainScalar(n)}
	case *ast.NullNode:
		return &value{line: line}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return &value{line: line, scalar: normalised(n.(ast.ScalarNode).GetValue())}
	}
	return b.fail(line, "found %s, expected mappings, lists and values", strings.ToLower(n.Type().String()))
}

func (b *yamlBuilder) mapping(entries []*ast.MappingValueNode, line, depth int) *value {
	v := &value{line: line, form: mappingForm, fields: map[string]*value{}}
	for i, entry := range entries {
		at := lineOf(entry.Key)
		if i == 0 {
			v.line = at
		}
		name := entry.Key.String()
		if s, ok := entry.Key.(*ast.StringNode); ok {
			name = s.Value
		}
		if _, ok := v.fields[name]; ok {
			return b.fail(at, "key %q already set in map", name)
		}
		field := b.build(entry.Value, depth+1)
		if field.line == 0 {
			field.line = at
		}
		v.keys = append(v.keys, name)
		v.fields[name] = field
	}
	return v
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

var exponent = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)

// plainScalar reads an unquoted word as YAML 1.1 does, which is what Kubernetes
// reads: yes and on are booleans.
func plainScalar(n *ast.StringNode) any {
	if n.Token.Type != token.StringType {
		return n.Value
	}
	switch n.Value {
	case "yes", "Yes", "YES", "on", "On", "ON":
		return true
	case "no", "No", "NO", "off", "Off", "OFF":
		return false
	}
	// goccy/go-yaml v1.19 reads 1e9 as text.
	if exponent.MatchString(n.Value) {
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
	}
	return n.Value
}

func normalised(scalar any) any {
	switch n := scalar.(type) {
	case int:
		return int64(n)
	case uint64:
		if n <= 1<<63-1 {
			return int64(n)
		}
	}
	return scalar
}
