package record

import "unsafe"

// fields is one field of each of some rows. Going through reflect for every value
// took three quarters of the time of BenchmarkWriteSamples, so the address of a field
// is computed from the offset that reflect gave once; cells picks the type by the
// field's reflect.Type.
type fields struct {
	first  unsafe.Pointer // the field of the first row
	stride uintptr        // from row to row
	n      int
}

func fieldsOf[T Row](rows []T, offset uintptr) fields {
	if len(rows) == 0 {
		return fields{}
	}
	return fields{unsafe.Add(unsafe.Pointer(unsafe.SliceData(rows)), offset), unsafe.Sizeof(rows[0]), len(rows)}
}

// at returns the field of row i, which must be of type V.
func at[V any](f fields, i int) *V {
	return (*V)(unsafe.Add(f.first, uintptr(i)*f.stride))
}

// bytesOf returns the bytes of a string, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
