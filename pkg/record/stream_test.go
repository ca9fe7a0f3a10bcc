package record

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// stream encodes batches of rows.
func stream[T Row](t testing.TB, meta map[string]string, batches ...[]T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewStreamWriter[T](&out, meta)
	must(t, err)
	for _, rows := range batches {
		must(t, w.Write(rows...))
		must(t, w.Flush())
	}
	must(t, w.Close())
	return out.Bytes()
}

func TestStreamsFollowEachOtherOnOnePipe(t *testing.T) {
	requests, jobs := someRows[Request](3), someRows[Job](20_000)
	pipe := append(stream(t, map[string]string{"bg.run": "started"}, requests), stream(t, map[string]string{"bg.run": "ended"}, jobs)...)
	pipe = append(pipe, "rest"...)
	// A buffer smaller than a batch, and a pipe that hands out odd pieces.
	r := bufio.NewReaderSize(iotestHalf{bytes.NewReader(pipe)}, 4096)

	first, err := NewReader[Request](r)
	must(t, err)
	if got := collect(t, first.All()); !cmp.Equal(requests, got) {
		t.Errorf("requests (-want +got):\n%s", cmp.Diff(requests, got))
	}
	if first.Meta()["bg.run"] != "started" || first.Meta()[SchemaKey] != "bg_request/1" {
		t.Errorf("first metadata: %v", first.Meta())
	}
	second, err := NewReader[Job](r)
	must(t, err)
	if got := collect(t, second.All()); len(got) != len(jobs) {
		t.Errorf("found %d jobs, expected %d", len(got), len(jobs))
	}
	if second.Meta()["bg.run"] != "ended" {
		t.Errorf("second metadata: %v", second.Meta())
	}
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("found %q behind the streams, expected rest", rest)
	}
}

type iotestHalf struct{ r io.Reader }

func (h iotestHalf) Read(p []byte) (int, error) { return h.r.Read(p[:(len(p)+1)/2]) }

func TestParquetComesThroughAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	want := someRows[Job](10)
	writeFile(t, path, want)
	data, err := os.ReadFile(path)
	must(t, err)
	r, err := NewReader[Job](bytes.NewReader(data))
	must(t, err)
	if got := collect(t, r.All()); !cmp.Equal(want, got) {
		t.Errorf("rows (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func writeFile[T Row](t testing.TB, path string, rows []T) {
	t.Helper()
	w, err := Create[T](path, nil)
	must(t, err)
	must(t, w.Write(rows...))
	must(t, w.Close())
}

func TestReaderMayStopEarly(t *testing.T) {
	r, err := NewReader[Job](bytes.NewReader(stream(t, nil, someRows[Job](10))))
	must(t, err)
	for range r.All() {
		break
	}
}

// Wherever a stream is cut, the rows of the whole batches before are read and then
// the cut is reported.
func TestStreamCutAnywhereYieldsItsWholeBatches(t *testing.T) {
	a, b := someRows[Job](2), someRows[Job](3)
	head, oneBatch := len(stream[Job](t, nil)), len(stream(t, nil, a))
	whole := stream(t, nil, a, b)
	end := len(stream[Job](t, nil)) - len(headOf(t))
	for cut := range len(whole) {
		r, err := NewReader[Job](bytes.NewReader(whole[:cut]))
		if err != nil {
			if cut >= head-end {
				t.Fatalf("cut at %d, behind the head of %d: %v", cut, head-end, err)
			}
			continue
		}
		rows, want := 0, 0
		switch {
		case cut >= len(whole)-end:
			want = 5
		case cut >= oneBatch-end:
			want = 2
		}
		for _, err = range r.All() {
			if err == nil {
				rows++
			}
		}
		if rows != want || !errors.Is(err, ErrTruncated) {
			t.Fatalf("cut at %d of %d: found %d rows and error %v, expected %d and %v", cut, len(whole), rows, err, want, ErrTruncated)
		}
	}
}

// headOf is a stream of no rows without its end mark.
func headOf(t testing.TB) []byte {
	var out bytes.Buffer
	_, err := NewStreamWriter[Job](&out, nil)
	must(t, err)
	return out.Bytes()
}

func TestRowsOfAnotherKindAreRefused(t *testing.T) {
	dir := t.TempDir()
	job := filepath.Join(dir, "jobs.parquet")
	writeFile(t, job, someRows[Job](1))
	garbage := filepath.Join(dir, "garbage.parquet")
	must(t, os.WriteFile(garbage, []byte("id,name\n1,x\n"), 0o644))
	empty := filepath.Join(dir, "empty.parquet")
	must(t, os.WriteFile(empty, nil, 0o644))
	cut := filepath.Join(dir, "cut.parquet")
	whole, err := os.ReadFile(job)
	must(t, err)
	must(t, os.WriteFile(cut, whole[:len(whole)/2], 0o644))
	feather := filepath.Join(dir, "x.arrow")
	must(t, os.WriteFile(feather, []byte("ARROW1\x00\x00"), 0o644))

	for path, want := range map[string]string{
		job:     "found rows of schema bg_job/1, expected bg_request/1",
		garbage: `it begins with "id,n", expected bg_request rows as Parquet or Arrow IPC stream`,
		empty:   "found 0 bytes, expected bg_request rows",
		cut:     "its footer cannot be read (is it whole?)",
		feather: "found an Arrow IPC file, expected bg_request rows as Parquet or Arrow IPC stream",
	} {
		_, err := ReadFile[Request](path)
		wantError(t, err, "reading "+path+": ", want)
	}
	_, err = ReadFile[Request](filepath.Join(dir, "none.parquet"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("found %v, expected %v", err, os.ErrNotExist)
	}
	_, err = NewReader[Request](bytes.NewReader(stream(t, nil, someRows[Sample](1))))
	wantError(t, err, "reading stream: found rows of schema bg_sample/1, expected bg_request/1")
}

// foreignStream has the columns of Job as change leaves them.
func foreignStream(t *testing.T, change func([]arrow.Field) []arrow.Field, nulls bool) []byte {
	t.Helper()
	s := arrow.NewSchema(change(append([]arrow.Field(nil), jobSchema.arrow.Fields()...)), nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	for _, f := range b.Fields() {
		if nulls {
			f.AppendNull()
		} else {
			f.AppendEmptyValue()
		}
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	must(t, w.Write(b.NewRecord()))
	must(t, w.Close())
	return out.Bytes()
}

func TestForeignStreamIsReadIfItsColumnsFit(t *testing.T) {
	data := foreignStream(t, func(fields []arrow.Field) []arrow.Field {
		fields[0], fields[5] = fields[5], fields[0] // another order, and one column more
		return append(fields, arrow.Field{Name: "more", Type: arrow.PrimitiveTypes.Int8})
	}, false)
	r, err := NewReader[Job](bytes.NewReader(data))
	must(t, err)
	if rows := collect(t, r.All()); len(rows) != 1 {
		t.Errorf("found %d rows, expected 1", len(rows))
	}
}

func TestForeignStreamIsRefusedIfItsColumnsDoNotFit(t *testing.T) {
	_, err := NewReader[Job](bytes.NewReader(foreignStream(t, func(fields []arrow.Field) []arrow.Field {
		return fields[1:]
	}, false)))
	wantError(t, err, "reading stream: found 0 columns named experiment, expected one of type utf8 (schema bg_job/1)")

	_, err = NewReader[Job](bytes.NewReader(foreignStream(t, func(fields []arrow.Field) []arrow.Field {
		fields[5].Type = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
		return fields
	}, false)))
	wantError(t, err, "column observed_at: found type timestamp[ns, tz=UTC], expected timestamp[us, tz=UTC] (schema bg_job/1)")

	r, err := NewReader[Job](bytes.NewReader(foreignStream(t, func(fields []arrow.Field) []arrow.Field { return fields }, true)))
	must(t, err)
	for _, err = range r.All() {
	}
	wantError(t, err, "reading stream after 0 rows: column experiment: found 1 nulls, expected none")
}

func TestWriterErrorIsKept(t *testing.T) {
	full := errors.New("no space left on device")
	w, err := NewStreamWriter[Job](&failing{after: 1, err: full}, nil)
	must(t, err)
	must(t, w.Write(Job{}))
	for range 2 {
		if err := w.Flush(); !errors.Is(err, full) {
			t.Errorf("found %v, expected %v", err, full)
		}
	}
	if err := w.Write(Job{}); !errors.Is(err, full) {
		t.Errorf("Write: found %v, expected %v", err, full)
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("Close: found %v, expected %v", err, full)
	}
}

// failing takes a number of writes.
type failing struct {
	after int
	err   error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, f.err
	}
	return len(p), nil
}

// bodies returns the parts of a stream that hold values.
func bodies(t *testing.T, data []byte) [][]byte {
	t.Helper()
	var out [][]byte
	r := bytes.NewReader(data)
	for {
		message, err := messages{r}.Message()
		if errors.Is(err, io.EOF) {
			return out
		}
		must(t, err)
		end := len(data) - r.Len()
		out = append(out, data[end-int(message.BodyLen()):end])
	}
}

// Message heads are left alone: Arrow believes them and could take all memory.
func TestDamagedValuesAreReportedOrReadAndNeverPanic(t *testing.T) {
	whole := stream(t, nil, someRows[Request](5), someRows[Request](50))
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		damaged := bytes.Clone(whole)
		for _, body := range bodies(t, damaged) {
			if len(body) > 0 {
				body[random.IntN(len(body))] = byte(random.Uint32())
			}
		}
		r, err := NewReader[Request](bytes.NewReader(damaged))
		must(t, err)
		for _, err = range r.All() {
		}
		if err != nil && !errors.Is(err, ErrTruncated) && !strings.Contains(err.Error(), "nulls, expected none") {
			t.Fatal(err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(stream(f, map[string]string{"bg.run": "{}"}, someRows[Job](3)))
	f.Add(headOf(f))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			_, err := messages{r}.Message()
			if err == nil {
				continue
			}
			if err != io.EOF && !errors.Is(err, ErrTruncated) {
				t.Errorf("found %v, expected the end or %v", err, ErrTruncated)
			}
			return
		}
	})
}
