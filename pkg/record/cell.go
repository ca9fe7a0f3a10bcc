package record

import (
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/parquet-go/parquet-go/encoding"
)

// cell carries the values of one Go type into Arrow builders and out of Arrow
// arrays.
type cell struct {
	arrow arrow.DataType
	// write appends the fields.
	write func(b array.Builder, from fields)
	// read fills the fields.
	read func(a arrow.Array, to fields, few bool)
	// fill fills the fields from the pages of a Parquet column.
	fill filler
	// put appends fields to a Parquet column.
	put putter
}

// instant is the type of every point in time: DuckDB cuts nanoseconds off and
// Spark refuses them.
var instant = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

var cells = map[reflect.Type]cell{
	reflect.TypeFor[string]():     {arrow.BinaryTypes.String, writeStrings, readStrings, fillValues(words), putValues(putText)},
	reflect.TypeFor[*string]():    {arrow.BinaryTypes.String, writeStringPointers, readStringPointers, fillPointers(words), putPointers(putText)},
	reflect.TypeFor[bool]():       {arrow.FixedWidthTypes.Boolean, writeValues[bool, *array.BooleanBuilder], readValues[bool, *array.Boolean], fillValues(booleans), putValues(putBool)},
	reflect.TypeFor[*bool]():      {arrow.FixedWidthTypes.Boolean, writePointers[bool, *array.BooleanBuilder], readPointers[bool, *array.Boolean], fillPointers(booleans), putPointers(putBool)},
	reflect.TypeFor[int32]():      {arrow.PrimitiveTypes.Int32, writeValues[int32, *array.Int32Builder], readValues[int32, *array.Int32], fillValues(fixed((*encoding.Values).Int32)), putValues(putInt32)},
	reflect.TypeFor[*int32]():     {arrow.PrimitiveTypes.Int32, writePointers[int32, *array.Int32Builder], readPointers[int32, *array.Int32], fillPointers(fixed((*encoding.Values).Int32)), putPointers(putInt32)},
	reflect.TypeFor[int64]():      {arrow.PrimitiveTypes.Int64, writeValues[int64, *array.Int64Builder], readValues[int64, *array.Int64], fillValues(fixed((*encoding.Values).Int64)), putValues(putInt64)},
	reflect.TypeFor[*int64]():     {arrow.PrimitiveTypes.Int64, writePointers[int64, *array.Int64Builder], readPointers[int64, *array.Int64], fillPointers(fixed((*encoding.Values).Int64)), putPointers(putInt64)},
	reflect.TypeFor[float64]():    {arrow.PrimitiveTypes.Float64, writeValues[float64, *array.Float64Builder], readValues[float64, *array.Float64], fillValues(fixed((*encoding.Values).Double)), putValues(putDouble)},
	reflect.TypeFor[*float64]():   {arrow.PrimitiveTypes.Float64, writePointers[float64, *array.Float64Builder], readPointers[float64, *array.Float64], fillPointers(fixed((*encoding.Values).Double)), putPointers(putDouble)},
	reflect.TypeFor[time.Time]():  {instant, writeInstants, readInstants, fillValues(instants), putValues(putInstant)},
	reflect.TypeFor[*time.Time](): {instant, writeInstantPointers, readInstantPointers, fillPointers(instants), putPointers(putInstant)},
	reflect.TypeFor[[]float32]():  {listOf(arrow.PrimitiveTypes.Float32), writeLists[float32, *array.Float32Builder], readFloat32Lists, fillLists((*encoding.Values).Float), putLists[float32]},
	reflect.TypeFor[[]int32]():    {listOf(arrow.PrimitiveTypes.Int32), writeLists[int32, *array.Int32Builder], readInt32Lists, fillLists((*encoding.Values).Int32), putLists[int32]},
}

// listOf names the element as Parquet does.
func listOf(element arrow.DataType) arrow.DataType {
	return arrow.ListOfField(arrow.Field{Name: "element", Type: element})
}

type builderOf[V any] interface {
	array.Builder
	Append(V)
}

func writeValues[V any, B builderOf[V]](b array.Builder, from fields) {
	to := b.(B)
	for i := range from.n {
		to.Append(*at[V](from, i))
	}
}

func writePointers[V any, B builderOf[V]](b array.Builder, from fields) {
	to := b.(B)
	for i := range from.n {
		if v := *at[*V](from, i); v != nil {
			to.Append(*v)
		} else {
			to.AppendNull()
		}
	}
}

func writeStrings(b array.Builder, from fields) {
	to := b.(*array.StringBuilder).BinaryBuilder
	for i := range from.n {
		to.Append(bytesOf(*at[string](from, i)))
	}
}

func writeStringPointers(b array.Builder, from fields) {
	to := b.(*array.StringBuilder).BinaryBuilder
	for i := range from.n {
		if v := *at[*string](from, i); v != nil {
			to.Append(bytesOf(*v))
		} else {
			to.AppendNull()
		}
	}
}

func writeInstants(b array.Builder, from fields) {
	to := b.(*array.TimestampBuilder)
	for i := range from.n {
		to.Append(arrow.Timestamp(at[time.Time](from, i).UnixMicro()))
	}
}

func writeInstantPointers(b array.Builder, from fields) {
	to := b.(*array.TimestampBuilder)
	for i := range from.n {
		if v := *at[*time.Time](from, i); v != nil {
			to.Append(arrow.Timestamp(v.UnixMicro()))
		} else {
			to.AppendNull()
		}
	}
}

func writeLists[V any, B interface {
	array.Builder
	AppendValues([]V, []bool)
}](b array.Builder, from fields) {
	lists := b.(*array.ListBuilder)
	values := lists.ValueBuilder().(B)
	total := 0
	for i := range from.n {
		total += len(*at[[]V](from, i))
	}
	values.Reserve(total)
	for i := range from.n {
		lists.Append(true)
		values.AppendValues(*at[[]V](from, i), nil)
	}
}

type arrayOf[V any] interface {
	arrow.Array
	Value(int) V
}

func readValues[V any, A arrayOf[V]](a arrow.Array, to fields, _ bool) {
	values := a.(A)
	for i := range values.Len() {
		*at[V](to, i) = values.Value(i)
	}
}

// readPointers makes the values of a batch in one piece, so a column of a batch
// costs one allocation.
func readPointers[V any, A arrayOf[V]](a arrow.Array, to fields, _ bool) {
	mapPointers(a, to, a.(A).Value)
}

func mapPointers[V any](a arrow.Array, to fields, value func(int) V) {
	made := make([]V, 0, a.Len()-a.NullN())
	for i := range a.Len() {
		if a.IsValid(i) {
			made = append(made, value(i))
			*at[*V](to, i) = &made[len(made)-1]
		}
	}
}

// interned returns a function that makes one string of equal ones.
func interned(values *array.String) func(i int) *string {
	seen := make(map[string]*string)
	last := new(string)
	return func(i int) *string {
		v := values.Value(i)
		if v == *last {
			return last
		}
		one, ok := seen[v]
		if !ok {
			text := strings.Clone(v)
			one = &text
			seen[text] = one
		}
		last = one
		return one
	}
}

// readStrings reads strings; where few is set, equal ones are one string, else they
// share the memory of the batch.
func readStrings(a arrow.Array, to fields, few bool) {
	values := a.(*array.String)
	if !few {
		readValues[string, *array.String](a, to, few)
		return
	}
	value := interned(values)
	for i := range values.Len() {
		*at[string](to, i) = *value(i)
	}
}

// readStringPointers is readStrings for strings that may be missing.
func readStringPointers(a arrow.Array, to fields, few bool) {
	values := a.(*array.String)
	if !few {
		mapPointers(a, to, values.Value)
		return
	}
	value := interned(values)
	for i := range values.Len() {
		if values.IsValid(i) {
			*at[*string](to, i) = value(i)
		}
	}
}

func instantsOf(a arrow.Array) func(int) time.Time {
	values := a.(*array.Timestamp)
	return func(i int) time.Time { return time.UnixMicro(int64(values.Value(i))).UTC() }
}

func readInstants(a arrow.Array, to fields, _ bool) {
	value := instantsOf(a)
	for i := range a.Len() {
		*at[time.Time](to, i) = value(i)
	}
}

func readInstantPointers(a arrow.Array, to fields, _ bool) {
	mapPointers(a, to, instantsOf(a))
}

func readFloat32Lists(a arrow.Array, to fields, _ bool) {
	readLists(a, to, a.(*array.List).ListValues().(*array.Float32).Float32Values())
}

func readInt32Lists(a arrow.Array, to fields, _ bool) {
	readLists(a, to, a.(*array.List).ListValues().(*array.Int32).Int32Values())
}

// readLists cuts the lists out of one copy of all elements. An empty list is nil.
func readLists[V any](a arrow.Array, to fields, elements []V) {
	lists := a.(*array.List)
	elements = append([]V(nil), elements...)
	for i := range lists.Len() {
		if start, end := lists.ValueOffsets(i); start < end {
			*at[[]V](to, i) = elements[start:end:end]
		}
	}
}
