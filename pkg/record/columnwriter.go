package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A page is written when it has so many bytes or values.
const (
	pageBytes  = 1 << 20
	pageValues = 1 << 17
)

// columnWriter makes one column of a row group of a Parquet file. parquet-go takes
// rows apart value by value; here a column is written at once, and a value that is
// repeated costs nothing (BenchmarkWriteRequests, BenchmarkWriteSamples).
type columnWriter struct {
	column
	leaf parquet.LeafColumn
	path []string
	zstd *zstd.Encoder

	// The page that is being made.
	rows, nulls    int
	starts, levels runs   // repetition and definition levels
	plain          []byte // the values
	flags          int    // how many booleans plain has
	places         runs   // of the values in the dictionary
	low, high      []byte // of plain texts

	words dictionary
	word  [8]byte // scratch

	// The column so far.
	dictionary, pages []byte
	meta              format.ColumnMetaData
	index             format.ColumnIndex
	offsets           format.OffsetIndex
	row               int64 // the first of the page
}

// dictionary numbers the texts of a column, or its numbers as their bytes.
type dictionary struct {
	texts []string
	place map[string]int32
	last  string // the text that was asked for last, and its place
	at    int32
}

func (d *dictionary) placeOf(text string) int32 {
	if len(d.texts) > 0 && text == d.last {
		return d.at
	}
	at, ok := d.place[text]
	if !ok {
		if d.place == nil {
			d.place = make(map[string]int32)
		}
		at = int32(len(d.texts))
		d.texts = append(d.texts, text)
		d.place[text] = at
	}
	d.last, d.at = text, at
	return at
}

// placeOfNumber is placeOf for a number's bytes, which become a text only once.
func (d *dictionary) placeOfNumber(word []byte) int32 {
	if len(d.texts) > 0 && string(word) == d.last {
		return d.at
	}
	at, ok := d.place[string(word)]
	if !ok {
		return d.placeOf(string(word))
	}
	d.last, d.at = d.texts[at], at
	return at
}

// putter appends a field of each of some rows to a column, each so many times.
type putter func(w *columnWriter, from fields, times int)

func putValues[V any](put func(*columnWriter, V, int)) putter {
	return func(w *columnWriter, from fields, times int) {
		for i := range from.n {
			put(w, *at[V](from, i), times)
			w.rowsEnd(times)
		}
	}
}

func putPointers[V any](put func(*columnWriter, V, int)) putter {
	return func(w *columnWriter, from fields, times int) {
		for i := range from.n {
			if v := *at[*V](from, i); v != nil {
				w.levels.add(1, times)
				put(w, *v, times)
			} else {
				w.levels.add(0, times)
				w.nulls += times
			}
			w.rowsEnd(times)
		}
	}
}

func putLists[V float32 | int32](w *columnWriter, from fields, times int) {
	for i := range from.n {
		list := *at[[]V](from, i)
		for range times {
			w.starts.add(0, 1)
			if len(list) == 0 {
				w.levels.add(0, 1)
				w.nulls++
			} else {
				w.starts.add(1, len(list)-1)
				w.levels.add(1, len(list))
				w.plain = appendLittleEndian(w.plain, list)
			}
			w.rowsEnd(1)
		}
	}
}

// appendLittleEndian appends the bytes of numbers.
func appendLittleEndian[V int32 | int64 | float32 | float64](dst []byte, list []V) []byte {
	size := int(unsafe.Sizeof(V(0)))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), size*len(list))
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return append(dst, bytes...)
	}
	for number := range slices.Chunk(bytes, size) {
		for i := range size {
			dst = append(dst, number[size-1-i])
		}
	}
	return dst
}

func putInt32(w *columnWriter, v int32, times int) {
	if w.few {
		w.places.add(w.words.placeOfNumber(binary.LittleEndian.AppendUint32(w.word[:0], uint32(v))), times)
		return
	}
	for range times {
		w.plain = binary.LittleEndian.AppendUint32(w.plain, uint32(v))
	}
}

func putInt64(w *columnWriter, v int64, times int) {
	if w.few {
		w.places.add(w.words.placeOfNumber(binary.LittleEndian.AppendUint64(w.word[:0], uint64(v))), times)
		return
	}
	for range times {
		w.plain = binary.LittleEndian.AppendUint64(w.plain, uint64(v))
	}
}

func putDouble(w *columnWriter, v float64, times int) {
	putInt64(w, int64(math.Float64bits(v)), times)
}

func putInstant(w *columnWriter, v time.Time, times int) { putInt64(w, v.UnixMicro(), times) }

func putBool(w *columnWriter, v bool, times int) {
	for range times {
		if w.flags%8 == 0 {
			w.plain = append(w.plain, 0)
		}
		if v {
			w.plain[w.flags/8] |= 1 << (w.flags % 8)
		}
		w.flags++
	}
}

func putText(w *columnWriter, v string, times int) {
	if w.few {
		w.places.add(w.words.placeOf(v), times)
		return
	}
	for range times {
		w.plain = binary.LittleEndian.AppendUint32(w.plain, uint32(len(v)))
		w.plain = append(w.plain, v...)
	}
	w.low, w.high = widen(w.low, w.high, v, len(w.plain) == times*(4+len(v)))
}

// widen makes bounds take in a text.
func widen(low, high []byte, text string, first bool) ([]byte, []byte) {
	if first || text < string(low) {
		low = append(low[:0], text...)
	}
	if first || text > string(high) {
		high = append(high[:0], text...)
	}
	return low, high
}

func (w *columnWriter) rowsEnd(n int) {
	w.rows += n
	if len(w.plain) >= pageBytes || w.places.count >= pageValues {
		w.endPage()
	}
}

// values is how many values the page has, nulls included.
func (w *columnWriter) values() int {
	if w.leaf.MaxDefinitionLevel > 0 {
		return w.levels.count
	}
	return w.rows
}

func (w *columnWriter) encoding() format.Encoding {
	if w.few {
		return format.RLEDictionary
	}
	return format.Plain
}

// endPage appends the page to the column.
func (w *columnWriter) endPage() {
	if w.rows == 0 {
		return
	}
	low, high, any := w.bounds()
	var starts, levels []byte
	if w.leaf.MaxRepetitionLevel > 0 {
		starts = w.starts.appendHybrid(nil, widthOf(w.leaf.MaxRepetitionLevel))
	}
	if w.leaf.MaxDefinitionLevel > 0 {
		levels = w.levels.appendHybrid(nil, widthOf(w.leaf.MaxDefinitionLevel))
	}
	if w.few {
		width := widthOf(max(1, len(w.words.texts)-1))
		w.plain = w.places.appendHybrid(append(w.plain, byte(width)), width)
	}
	packed := w.zstd.EncodeAll(w.plain, nil)
	header := format.PageHeader{
		Type:                 format.DataPageV2,
		UncompressedPageSize: int32(len(starts) + len(levels) + len(w.plain)),
		CompressedPageSize:   int32(len(starts) + len(levels) + len(packed)),
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
			NumValues:                  int32(w.values()),
			NumNulls:                   int32(w.nulls),
			NumRows:                    int32(w.rows),
			Encoding:                   w.encoding(),
			DefinitionLevelsByteLength: int32(len(levels)),
			RepetitionLevelsByteLength: int32(len(starts)),
			IsCompressed:               thrift.New(true),
		}),
	}
	w.offsets.PageLocations = append(w.offsets.PageLocations, format.PageLocation{
		Offset: int64(len(w.pages)), FirstRowIndex: w.row, CompressedPageSize: w.appendPage(header, starts, levels, packed),
	})
	w.index.NullPages = append(w.index.NullPages, !any)
	w.index.NullCounts = append(w.index.NullCounts, int64(w.nulls))
	w.index.MinValues = append(w.index.MinValues, low)
	w.index.MaxValues = append(w.index.MaxValues, high)
	w.meta.NumValues += int64(w.values())
	w.meta.Statistics.NullCount += int64(w.nulls)
	if any {
		w.count(low, high)
	}
	w.row += int64(w.rows)
	w.rows, w.nulls, w.flags, w.plain = 0, 0, 0, w.plain[:0]
	w.starts.reset()
	w.levels.reset()
	w.places.reset()
}

// appendPage appends a page and returns its size.
func (w *columnWriter) appendPage(header format.PageHeader, parts ...[]byte) int32 {
	head, err := thrift.Marshal(new(thrift.CompactProtocol), header)
	if err != nil {
		panic(err) // nothing in a page header can fail
	}
	before := len(w.pages)
	w.pages = append(w.pages, head...)
	for _, part := range parts {
		w.pages = append(w.pages, part...)
	}
	w.meta.TotalUncompressedSize += int64(len(head)) + int64(header.UncompressedPageSize)
	w.meta.TotalCompressedSize += int64(len(w.pages) - before)
	return int32(len(w.pages) - before)
}

// begin begins a row group.
func (w *columnWriter) begin() {
	w.words, w.dictionary, w.pages, w.row = dictionary{}, nil, nil, 0
	w.index, w.offsets = format.ColumnIndex{}, format.OffsetIndex{}
	w.meta = format.ColumnMetaData{
		Type:         format.Type(w.leaf.Node.Type().Kind()),
		PathInSchema: w.path,
		Codec:        format.Zstd,
		Encoding:     []format.Encoding{format.RLE, w.encoding()},
	}
	if w.few {
		w.meta.Encoding = append(w.meta.Encoding, format.Plain) // of the dictionary
	}
}

// end ends the column, which begins at offset in the file.
func (w *columnWriter) end(offset int64) format.ColumnChunk {
	w.endPage()
	if w.few {
		w.dictionary = w.dictionaryPage()
		w.meta.DictionaryPageOffset = offset
		offset += int64(len(w.dictionary))
	}
	w.meta.DataPageOffset = offset
	for i := range w.offsets.PageLocations {
		w.offsets.PageLocations[i].Offset += offset
	}
	return format.ColumnChunk{MetaData: w.meta}
}

func (w *columnWriter) dictionaryPage() []byte {
	var plain []byte
	for _, text := range w.words.texts {
		if w.leaf.Node.Type().Kind() == parquet.ByteArray {
			plain = binary.LittleEndian.AppendUint32(plain, uint32(len(text)))
		}
		plain = append(plain, text...)
	}
	packed := w.zstd.EncodeAll(plain, nil)
	data := w.pages
	w.pages = nil
	w.appendPage(format.PageHeader{
		Type:                 format.DictionaryPage,
		UncompressedPageSize: int32(len(plain)),
		CompressedPageSize:   int32(len(packed)),
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(w.words.texts)), Encoding: format.Plain}),
	}, packed)
	page := w.pages
	w.pages = data
	return page
}

// count makes the statistics of the column take in the bounds of a page.
func (w *columnWriter) count(low, high []byte) {
	s := &w.meta.Statistics
	if s.MinValue == nil || w.leaf.Node.Type().Compare(w.value(low), w.value(s.MinValue)) < 0 {
		s.MinValue = low
	}
	if s.MaxValue == nil || w.leaf.Node.Type().Compare(w.value(high), w.value(s.MaxValue)) > 0 {
		s.MaxValue = high
	}
}

func (w *columnWriter) value(plain []byte) parquet.Value {
	return w.leaf.Node.Type().Kind().Value(plain)
}

// bounds returns the lowest and the highest value of the page, plainly encoded but
// for the length of a text; any is false if all values are null.
func (w *columnWriter) bounds() (low, high []byte, any bool) {
	if w.values() == w.nulls {
		return []byte{}, []byte{}, false
	}
	switch w.leaf.Node.Type().Kind() {
	case parquet.Boolean:
		ones := 0
		for _, b := range w.plain {
			ones += bits.OnesCount8(b)
		}
		low, high = []byte{0}, []byte{0}
		if ones == w.flags {
			low[0] = 1
		}
		if ones > 0 {
			high[0] = 1
		}
	case parquet.Int32:
		low, high = boundsOf(w.numbers(), 4, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) })
	case parquet.Int64:
		low, high = boundsOf(w.numbers(), 8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
	case parquet.Float:
		low, high = floatBounds(w.plain, 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) },
			func(v float64) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))) })
	case parquet.Double:
		low, high = floatBounds(w.plain, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) },
			func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) })
	default:
		if w.few {
			for i, one := range w.places.list {
				w.low, w.high = widen(w.low, w.high, w.words.texts[one.value], i == 0)
			}
		}
		low, high = bytes.Clone(w.low), bytes.Clone(w.high)
	}
	return low, high, true
}

// numbers returns the bytes of all numbers of the page, equal ones that follow each
// other perhaps once.
func (w *columnWriter) numbers() []byte {
	if !w.few {
		return w.plain
	}
	var all []byte
	for _, one := range w.places.list {
		all = append(all, w.words.texts[one.value]...)
	}
	return all
}

func boundsOf[V int32 | int64](plain []byte, size int, decode func([]byte) V) (low, high []byte) {
	low, high = plain[:size], plain[:size]
	least, most := decode(low), decode(high)
	for at := size; at < len(plain); at += size {
		one := plain[at : at+size]
		if v := decode(one); v < least {
			low, least = one, v
		} else if v > most {
			high, most = one, v
		}
	}
	return bytes.Clone(low), bytes.Clone(high)
}

// floatBounds leaves out what is not a number, and takes zero for either of its
// signs (Apache Parquet, ColumnOrder).
func floatBounds(plain []byte, size int, decode func([]byte) float64, encode func(float64) []byte) (low, high []byte) {
	least, most := math.Inf(1), math.Inf(-1)
	for at := 0; at < len(plain); at += size {
		v := decode(plain[at : at+size])
		if v < least {
			least = v
		}
		if v > most {
			most = v
		}
	}
	if least > most { // no number at all: nothing can be said
		least, most = most, least
	}
	if least == 0 {
		least = math.Copysign(0, -1)
	}
	if most == 0 {
		most = 0
	}
	return encode(least), encode(most)
}
