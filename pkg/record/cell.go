package record

import (
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
)

// cell carries the values of one Go type into Arrow builders and out of Arrow
// arrays. Fields are passed as pointers inside an interface, which costs no
// allocation.
type cell struct {
	arrow arrow.DataType
	// write appends the field that p points to.
	write func(b array.Builder, p any)
	// read fills a field of each row; at gives the pointer to the field of row i.
	read func(a arrow.Array, at func(i int) any, few bool)
}

// instant is the type of every point in time: DuckDB cuts nanoseconds off and
// Spark refuses them.
var instant = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

var cells = map[reflect.Type]cell{
	reflect.TypeFor[string]():     {arrow.BinaryTypes.String, writeValue[string, *array.StringBuilder], readStrings},
	reflect.TypeFor[*string]():    {arrow.BinaryTypes.String, writePointer[string, *array.StringBuilder], readStringPointers},
	reflect.TypeFor[bool]():       {arrow.FixedWidthTypes.Boolean, writeValue[bool, *array.BooleanBuilder], readValues[bool, *array.Boolean]},
	reflect.TypeFor[*bool]():      {arrow.FixedWidthTypes.Boolean, writePointer[bool, *array.BooleanBuilder], readPointers[bool, *array.Boolean]},
	reflect.TypeFor[int32]():      {arrow.PrimitiveTypes.Int32, writeValue[int32, *array.Int32Builder], readValues[int32, *array.Int32]},
	reflect.TypeFor[*int32]():     {arrow.PrimitiveTypes.Int32, writePointer[int32, *array.Int32Builder], readPointers[int32, *array.Int32]},
	reflect.TypeFor[int64]():      {arrow.PrimitiveTypes.Int64, writeValue[int64, *array.Int64Builder], readValues[int64, *array.Int64]},
	reflect.TypeFor[*int64]():     {arrow.PrimitiveTypes.Int64, writePointer[int64, *array.Int64Builder], readPointers[int64, *array.Int64]},
	reflect.TypeFor[float64]():    {arrow.PrimitiveTypes.Float64, writeValue[float64, *array.Float64Builder], readValues[float64, *array.Float64]},
	reflect.TypeFor[*float64]():   {arrow.PrimitiveTypes.Float64, writePointer[float64, *array.Float64Builder], readPointers[float64, *array.Float64]},
	reflect.TypeFor[time.Time]():  {instant, writeInstant, readInstants},
	reflect.TypeFor[*time.Time](): {instant, writeInstantPointer, readInstantPointers},
	reflect.TypeFor[[]float32]():  {listOf(arrow.PrimitiveTypes.Float32), writeList[float32, *array.Float32Builder], readFloat32Lists},
	reflect.TypeFor[[]int32]():    {listOf(arrow.PrimitiveTypes.Int32), writeList[int32, *array.Int32Builder], readInt32Lists},
}

// listOf names the element as Parquet does.
func listOf(element arrow.DataType) arrow.DataType {
	return arrow.ListOfField(arrow.Field{Name: "element", Type: element})
}

type builderOf[V any] interface {
	array.Builder
	Append(V)
}

func writeValue[V any, B builderOf[V]](b array.Builder, p any) { b.(B).Append(*p.(*V)) }

func writePointer[V any, B builderOf[V]](b array.Builder, p any) {
	if v := *p.(**V); v != nil {
		b.(B).Append(*v)
	} else {
		b.AppendNull()
	}
}

func writeInstant(b array.Builder, p any) {
	b.(*array.TimestampBuilder).Append(arrow.Timestamp(p.(*time.Time).UnixMicro()))
}

func writeInstantPointer(b array.Builder, p any) {
	if v := *p.(**time.Time); v != nil {
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(v.UnixMicro()))
	} else {
		b.AppendNull()
	}
}

func writeList[V any, B interface{ AppendValues([]V, []bool) }](b array.Builder, p any) {
	list := b.(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(B).AppendValues(*p.(*[]V), nil)
}

type arrayOf[V any] interface {
	arrow.Array
	Value(int) V
}

func readValues[V any, A arrayOf[V]](a arrow.Array, at func(int) any, _ bool) {
	values := a.(A)
	for i := range values.Len() {
		*at(i).(*V) = values.Value(i)
	}
}

// readPointers makes the values of a batch in one piece, so a column of a batch
// costs one allocation.
func readPointers[V any, A arrayOf[V]](a arrow.Array, at func(int) any, _ bool) {
	values := a.(A)
	mapPointers(a, at, values.Value)
}

func mapPointers[V any](a arrow.Array, at func(int) any, value func(int) V) {
	made := make([]V, 0, a.Len()-a.NullN())
	for i := range a.Len() {
		if a.IsValid(i) {
			made = append(made, value(i))
			*at(i).(**V) = &made[len(made)-1]
		}
	}
}

// strings returns the strings of a; where few is set, equal ones are one string,
// else they share the memory of the batch.
func stringsOf(a arrow.Array, few bool) func(int) string {
	values := a.(*array.String)
	if !few {
		return values.Value
	}
	seen := make(map[string]string)
	var last string
	return func(i int) string {
		v := values.Value(i)
		if v == last {
			return last
		}
		one, ok := seen[v]
		if !ok {
			one = strings.Clone(v)
			seen[one] = one
		}
		last = one
		return one
	}
}

func readStrings(a arrow.Array, at func(int) any, few bool) {
	value := stringsOf(a, few)
	for i := range a.Len() {
		*at(i).(*string) = value(i)
	}
}

func readStringPointers(a arrow.Array, at func(int) any, few bool) {
	mapPointers(a, at, stringsOf(a, few))
}

func instantsOf(a arrow.Array) func(int) time.Time {
	values := a.(*array.Timestamp)
	return func(i int) time.Time { return time.UnixMicro(int64(values.Value(i))).UTC() }
}

func readInstants(a arrow.Array, at func(int) any, _ bool) {
	value := instantsOf(a)
	for i := range a.Len() {
		*at(i).(*time.Time) = value(i)
	}
}

func readInstantPointers(a arrow.Array, at func(int) any, _ bool) {
	mapPointers(a, at, instantsOf(a))
}

func readFloat32Lists(a arrow.Array, at func(int) any, _ bool) {
	readLists(a, at, a.(*array.List).ListValues().(*array.Float32).Float32Values())
}

func readInt32Lists(a arrow.Array, at func(int) any, _ bool) {
	readLists(a, at, a.(*array.List).ListValues().(*array.Int32).Int32Values())
}

// readLists cuts the lists out of one copy of all elements. An empty list is nil.
func readLists[V any](a arrow.Array, at func(int) any, elements []V) {
	lists := a.(*array.List)
	elements = append([]V(nil), elements...)
	for i := range lists.Len() {
		if from, to := lists.ValueOffsets(i); from < to {
			*at(i).(*[]V) = elements[from:to:to]
		}
	}
}
