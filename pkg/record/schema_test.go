package record

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

func TestNullableColumnsArePointersAndNothingElseIs(t *testing.T) {
	for _, row := range []any{Request{}, Job{}, Sample{}} {
		rows := reflect.TypeOf(row)
		for i := range rows.NumField() {
			f := rows.Field(i)
			if slices.Contains(strings.Split(f.Tag.Get("parquet"), ","), "optional") {
				t.Errorf("%s.%s: parquet-go writes wrong nulls for value fields tagged optional, use a pointer", rows, f.Name)
			}
			leaf := parquet.SchemaOf(reflect.New(rows).Interface()).Fields()[i]
			if leaf.Optional() != (f.Type.Kind() == reflect.Pointer) {
				t.Errorf("%s.%s: optional is %t for type %s", rows, f.Name, leaf.Optional(), f.Type)
			}
		}
	}
}

// Parquet type of a leaf for each Arrow type.
var parquetTypes = map[arrow.Type]string{
	arrow.STRING:    "STRING",
	arrow.BOOL:      "BOOLEAN",
	arrow.INT32:     "INT(32,true)",
	arrow.INT64:     "INT(64,true)",
	arrow.FLOAT32:   "FLOAT",
	arrow.FLOAT64:   "DOUBLE",
	arrow.TIMESTAMP: "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)",
}

func TestArrowAndParquetSchemasAgreeWithTheStruct(t *testing.T) {
	for _, s := range []*schema{requestSchema, jobSchema, sampleSchema} {
		t.Run(s.name, func(t *testing.T) {
			if s.parquet.Name() != s.name {
				t.Errorf("Parquet root is called %s", s.parquet.Name())
			}
			fields := s.parquet.Fields()
			if len(fields) != s.arrow.NumFields() || len(fields) != len(s.columns) {
				t.Fatalf("%d Parquet columns, %d Arrow columns, %d fields", len(fields), s.arrow.NumFields(), len(s.columns))
			}
			for i, c := range s.columns {
				inArrow, inParquet := s.arrow.Field(i), fields[i]
				if inArrow.Name != c.name || inParquet.Name() != c.name {
					t.Errorf("column %d is called %s, %s and %s", i, c.name, inArrow.Name, inParquet.Name())
				}
				if inArrow.Nullable != inParquet.Optional() {
					t.Errorf("%s: nullable is %t in Arrow and %t in Parquet", c.name, inArrow.Nullable, inParquet.Optional())
				}
				path, kind := []string{c.name}, inArrow.Type.ID()
				if list, ok := inArrow.Type.(*arrow.ListType); ok {
					path, kind = []string{c.name, "list", "element"}, list.Elem().ID()
				}
				leaf, ok := s.parquet.Lookup(path...)
				if !ok {
					t.Fatalf("%s: no Parquet column %s", c.name, path)
				}
				if got := leaf.Node.Type().String(); got != parquetTypes[kind] {
					t.Errorf("%s: %s in Arrow, %s in Parquet, expected %s", c.name, inArrow.Type, got, parquetTypes[kind])
				}
			}
		})
	}
}

func TestInstantsAreMicrosecondsInUTC(t *testing.T) {
	for _, name := range []string{"due_at", "done_at"} {
		i := slices.IndexFunc(requestSchema.columns, func(c column) bool { return c.name == name })
		if got := requestSchema.arrow.Field(i).Type.String(); got != "timestamp[us, tz=UTC]" {
			t.Errorf("%s: Arrow type %s", name, got)
		}
		leaf, _ := requestSchema.parquet.Lookup(name)
		if kind := leaf.Node.Type().Kind(); kind != parquet.Int64 {
			t.Errorf("%s: Parquet kind %s", name, kind)
		}
		if converted := *leaf.Node.Type().ConvertedType(); converted != deprecated.TimestampMicros {
			t.Errorf("%s: Parquet converted type %v", name, converted)
		}
	}
}
