package gosource

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// Comments of the struct types of one package, by type and field; that of the type
// itself stands under the empty field.
type Comments map[string]map[string]string

// Read reads the Go files of a folder, tests left out.
func Read(dir string) (Comments, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("reading comments of %s: %w", dir, err)
	}
	c := make(Comments)
	files := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("reading comments: %w", err)
		}
		for _, d := range file.Decls {
			c.addTypes(d)
		}
	}
	if len(c) == 0 {
		return nil, fmt.Errorf("reading comments of %s: found no struct types", dir)
	}
	return c, nil
}

func (c Comments) addTypes(d ast.Decl) {
	types, ok := d.(*ast.GenDecl)
	if !ok || types.Tok != token.TYPE {
		return
	}
	for _, s := range types.Specs {
		s := s.(*ast.TypeSpec)
		of, ok := s.Type.(*ast.StructType)
		if !ok {
			continue
		}
		doc := s.Doc
		if doc == nil {
			doc = types.Doc
		}
		fields := map[string]string{"": text(doc)}
		for _, f := range of.Fields.List {
			said := strings.TrimSpace(text(f.Doc) + " " + text(f.Comment))
			for _, n := range f.Names {
				fields[n.Name] = said
			}
		}
		c[s.Name.Name] = fields
	}
}

func text(g *ast.CommentGroup) string {
	return strings.Join(strings.Fields(g.Text()), " ")
}

// Type is what is said about a type.
func (c Comments) Type(t reflect.Type) string { return c[t.Name()][""] }

// Meaning is what is said about a field, in the words of somebody who reads the file:
// the fields of the type are called by the keys that the tag gives them.
func (c Comments) Meaning(t reflect.Type, field, tag string) string {
	said := c[t.Name()][field]
	for i := range t.NumField() {
		f := t.Field(i)
		if key := Key(f, tag); key != "" && key != f.Name {
			said = regexp.MustCompile(`(^|[\s(,])`+f.Name+`($|[\s).,;:])`).ReplaceAllString(said, "$1`"+key+"`$2")
		}
	}
	return said
}

// Key is the name that a tag gives to a field, empty if it leaves it out.
func Key(f reflect.StructField, tag string) string {
	key, _, _ := strings.Cut(f.Tag.Get(tag), ",")
	if key == "-" {
		return ""
	}
	return key
}
