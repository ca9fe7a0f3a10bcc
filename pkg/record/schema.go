package record

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/parquet-go/parquet-go"
)

// Row is one of the three row types.
type Row interface{ Request | Job | Sample }

// SchemaKey is the metadata key under which every file and stream names its rows.
const SchemaKey = "bg.schema"

// schemaVersion grows when a column changes its meaning or its type.
const schemaVersion = 1

// schema is what the codecs need to know of a row type. The Go struct is its only
// source.
type schema struct {
	name    string // bg_request
	columns []column
	arrow   *arrow.Schema // without metadata
	parquet *parquet.Schema
}

// column is one field of the row's struct.
type column struct {
	name string
	// field is the index in the struct, and the position in both schemas.
	field    int
	offset   uintptr // in the struct
	nullable bool
	// few says that the column has few distinct values: a writer numbers them, and a
	// reader makes one string of equal ones.
	few bool
	cell
}

var (
	requestSchema = mustSchema[Request]("bg_request")
	jobSchema     = mustSchema[Job]("bg_job")
	sampleSchema  = mustSchema[Sample]("bg_sample")
)

func schemaOf[T Row]() *schema {
	switch any(*new(T)).(type) {
	case Request:
		return requestSchema
	case Job:
		return jobSchema
	default:
		return sampleSchema
	}
}

// tag is the value of SchemaKey.
func (s *schema) tag() string { return fmt.Sprintf("%s/%d", s.name, schemaVersion) }

// mustSchema panics where a field has a type that no codec knows, which the first
// test of this package would show.
func mustSchema[T Row](name string) *schema {
	t := reflect.TypeFor[T]()
	s := &schema{name: name, parquet: parquet.NewSchema(name, parquet.SchemaOf(new(T)))}
	fields := make([]arrow.Field, t.NumField())
	for i := range fields {
		f := t.Field(i)
		options := strings.Split(f.Tag.Get("parquet"), ",")
		codec, ok := cells[f.Type]
		if !ok {
			panic(fmt.Sprintf("record: %s.%s has type %s, which has no codec", t, f.Name, f.Type))
		}
		c := column{name: options[0], field: i, offset: f.Offset, nullable: f.Type.Kind() == reflect.Pointer, cell: codec}
		for _, option := range options[1:] {
			c.few = c.few || option == "dict"
		}
		s.columns = append(s.columns, c)
		fields[i] = arrow.Field{Name: c.name, Type: c.arrow, Nullable: c.nullable}
	}
	s.arrow = arrow.NewSchema(fields, nil)
	return s
}

// column returns the column of a name.
func (s *schema) column(name string) column {
	for _, c := range s.columns {
		if c.name == name {
			return c
		}
	}
	panic("record: schema " + s.name + " has no column " + name)
}

// with is s with some of its columns only.
func (s *schema) with(names []string) *schema {
	some := *s
	some.columns = make([]column, len(names))
	for i, name := range names {
		some.columns[i] = s.column(name)
	}
	return &some
}

// checkTag compares the value of SchemaKey, if there is one: a file that another
// program rewrote has lost it, and then the columns alone decide.
func (s *schema) checkTag(found string, ok bool) error {
	if ok && found != s.tag() {
		return fmt.Errorf("found rows of schema %s, expected %s", found, s.tag())
	}
	return nil
}
