package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// Event is one server-sent event. Its slices are valid until the next call of
// Decoder.Next.
type Event struct {
	// Data holds the data lines, joined by newlines.
	Data []byte
	// Name is the value of the event field, empty for "message".
	Name []byte
	// At is the instant of the read that brought the event's last byte.
	At time.Time
}

// Decoder reads server-sent events by the rules of the WHATWG (HTML Living
// Standard, 9.2.6 "Interpreting an event stream"): a line ends with LF, CR or
// CRLF and with nothing else, one space after the colon is optional, comments and
// unknown fields are skipped, an event ends with an empty line, and what the end
// of the stream cuts off is no event.
//
// It asks its clock directly after each read, before it looks at a byte, and
// allocates nothing per event once its buffers have grown to the largest one.
type Decoder struct {
	r      io.Reader
	pieces pieceSource // r where it is one, else nil
	clock  func() time.Time
	limit  int

	// buf is own, or a piece of the stream that is read in place. later is what comes after
	// buf of a piece that was read.
	buf, own, later []byte
	// buf[line:scan] holds no line end, buf[scan:end] was not looked at.
	line, scan, end int
	// buf[dataFrom:dataTo] is the only data line so far while dataLines is 1 and
	// joined is empty: most events have one line, which is not copied.
	dataFrom, dataTo int
	dataLines        int
	joined           []byte
	inJoined         bool
	name             []byte

	at       time.Time
	started  bool // the byte order mark was looked for
	skipLF   bool // the last line ended with CR: an LF that follows belongs to it
	received int64
	err      error
}

const (
	// DefaultEventLimit bounds one event. The largest events that vLLM sends carry
	// log probabilities and stay far below it.
	DefaultEventLimit = 1 << 20

	// readSpace is what a read is offered at least: some events. The connections of a
	// Client read more of the socket at a time and keep what has no room here, so that more
	// would only take memory (BenchmarkClientMemory in pkg/load).
	readSpace = 1 << 10

	// emptyReads is how many reads may bring neither a byte nor an error.
	emptyReads = 100
)

// ErrEventTooLarge is what Next returns for an event above the decoder's limit.
var ErrEventTooLarge = errors.New("event is too large")

// NewDecoder returns a decoder of r. The clock stamps reads; nil is time.Now.
func NewDecoder(r io.Reader, clock func() time.Time) *Decoder {
	d := &Decoder{limit: DefaultEventLimit}
	d.Reset(r, clock)
	return d
}

// Reset makes d as new for another stream and keeps its buffers.
func (d *Decoder) Reset(r io.Reader, clock func() time.Time) {
	if clock == nil {
		clock = time.Now
	}
	*d = Decoder{r: r, clock: clock, limit: d.limit, own: d.own, joined: d.joined[:0], name: d.name[:0]}
	if d.pieces, _ = r.(pieceSource); d.pieces == nil {
		d.buf = d.own[:cap(d.own)]
	}
}

// pieceSource is a reader, too, that shows what it has read in place. A piece is valid until
// the next one is asked for, and stamped by the source.
type pieceSource interface {
	NextPiece() (piece []byte, at time.Time, err error)
}

// SetEventLimit bounds the bytes of one event.
func (d *Decoder) SetEventLimit(n int) { d.limit = n }

// Received is how many bytes were read.
func (d *Decoder) Received() int64 { return d.received }

// LastRead is the instant of the latest read, that of the end included.
func (d *Decoder) LastRead() time.Time { return d.at }

// Next returns the next event. At the end of the stream it returns io.EOF, or
// the error of the read that failed.
func (d *Decoder) Next() (Event, error) {
	d.dropEvent()
	for {
		if d.takeEvent() {
			return Event{Data: d.data(), At: d.at}, nil
		}
		for d.scan < d.end {
			complete, err := d.takeLine()
			if err != nil {
				return Event{}, err
			}
			if complete {
				return Event{Data: d.data(), Name: d.name, At: d.at}, nil
			}
		}
		if d.err != nil {
			return Event{}, d.err
		}
		d.err = d.fill()
	}
}

// unread returns what was read and not used yet, if an event begins there, as far as the
// limit allows. It reads where there is nothing.
func (d *Decoder) unread() []byte {
	d.dropEvent()
	if d.line == d.end && d.err == nil {
		d.err = d.fill()
	}
	if d.skipLF || !d.started || d.scan != d.line {
		return nil
	}
	return d.buf[d.line:min(d.end, d.line+d.limit+len("\n\n"))]
}

// step steps over an event of n bytes, which its reader has found in unread.
func (d *Decoder) step(n int) {
	d.line += n
	d.scan = d.line
}

// takeEvent takes the event that comes next, if it has the form that model servers
// send and lies in the buffer whole: a data line with a space after the colon, an empty
// line, and LF at both their ends. It spares that form what all others need
// (BenchmarkDecoder).
func (d *Decoder) takeEvent() bool {
	const field = "data: "
	if d.skipLF || !d.started || d.dataLines > 0 || len(d.name) > 0 || d.scan != d.line {
		return false
	}
	window := d.buf[d.scan:d.end]
	if len(window) < len(field) || string(window[:len(field)]) != field {
		return false
	}
	length := bytes.IndexByte(window, '\n')
	if length < 0 || length > d.limit || length+1 == len(window) || window[length+1] != '\n' || bytes.IndexByte(window[:length], '\r') >= 0 {
		return false
	}
	d.dataLines = 1
	d.dataFrom, d.dataTo = d.scan+len(field), d.scan+length
	d.scan += length + 2
	d.line = d.scan
	return true
}

// Unfinished returns the data of the event that the end of the stream cut off,
// its last line included. By the standard it is no event.
func (d *Decoder) Unfinished() []byte {
	if d.line < d.end {
		d.field(d.line, d.end)
		d.line, d.scan = d.end, d.end
	}
	return d.data()
}

// takeLine looks for the end of the current line and reads its field. It reports
// whether the line completed an event.
func (d *Decoder) takeLine() (complete bool, err error) {
	if d.skipLF {
		d.skipLF = false
		if d.buf[d.scan] == '\n' {
			d.scan++
			d.line = d.scan
			return false, nil
		}
	}
	if !d.started && !d.skipMark() {
		return false, nil
	}
	window := d.buf[d.scan:d.end]
	length := bytes.IndexByte(window, '\n')
	if length >= 0 {
		window = window[:length]
	}
	if cr := bytes.IndexByte(window, '\r'); cr >= 0 {
		length = cr
		d.skipLF = true
	}
	// The limit is held against what the stream says, never against how the bytes
	// were cut into reads.
	if length < 0 {
		d.scan = d.end
		return false, d.withinLimit(d.end - d.line)
	}
	from, to := d.line, d.scan+length
	d.scan = to + 1
	d.line = d.scan
	if from < to {
		if err := d.withinLimit(to - from); err != nil {
			return false, err
		}
		d.field(from, to)
		return false, d.withinLimit(len(d.joined))
	}
	if d.dataLines == 0 {
		d.name = d.name[:0] // an event without data is not dispatched
		return false, nil
	}
	return true, nil
}

func (d *Decoder) withinLimit(size int) error {
	if size > d.limit {
		d.err = fmt.Errorf("%w: expected at most %d bytes", ErrEventTooLarge, d.limit)
		d.scan = d.end // nothing after it can be trusted
		return d.err
	}
	return nil
}

// skipMark skips a byte order mark at the start of the stream. It reports false
// while too little is there to tell.
func (d *Decoder) skipMark() bool {
	const mark = "\ufeff"
	head := d.buf[d.line:min(d.end, d.line+len(mark))]
	if string(head) == mark {
		d.line += len(mark)
		d.scan = d.line
		d.started = true
		return d.scan < d.end
	}
	if len(head) < len(mark) && string(head) == mark[:len(head)] {
		d.scan = d.end
		return false
	}
	d.scan = d.line
	d.started = true
	return true
}

// field reads the line buf[from:to].
func (d *Decoder) field(from, to int) {
	line := d.buf[from:to]
	colon := bytes.IndexByte(line, ':')
	name, value := line, to
	if colon >= 0 {
		name, value = line[:colon], from+colon+1
		if value < to && d.buf[value] == ' ' {
			value++
		}
	}
	switch string(name) {
	case "data":
		d.addData(value, to)
	case "event":
		d.name = append(d.name[:0], d.buf[value:to]...)
	}
	// A comment has an empty name. id and retry serve reconnection: nobody
	// reconnects to a completion.
}

func (d *Decoder) addData(from, to int) {
	d.dataLines++
	if d.dataLines == 1 {
		d.dataFrom, d.dataTo = from, to
		return
	}
	d.moveData()
	d.joined = append(d.joined, '\n')
	d.joined = append(d.joined, d.buf[from:to]...)
}

// moveData copies the data line that stands in the buffer to where several lines
// are joined.
func (d *Decoder) moveData() {
	if d.dataLines > 0 && !d.inJoined {
		d.joined = append(d.joined, d.buf[d.dataFrom:d.dataTo]...)
		d.inJoined = true
	}
}

func (d *Decoder) data() []byte {
	switch {
	case d.dataLines == 0:
		return nil
	case d.inJoined:
		return d.joined
	}
	return d.buf[d.dataFrom:d.dataTo]
}

func (d *Decoder) dropEvent() {
	d.dataLines = 0
	d.inJoined = false
	d.joined = d.joined[:0]
	d.name = d.name[:0]
}

// fill reads once. Bytes that came together with an error are kept, and the error
// is returned.
func (d *Decoder) fill() error {
	if d.pieces != nil {
		return d.fillPiece()
	}
	d.makeRoom()
	for range emptyReads {
		n, err := d.r.Read(d.buf[d.end:])
		d.at = d.clock()
		d.end += n
		d.received += int64(n)
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// fillPiece looks at the next piece where it lies. If there is still the start of a line in
// front of it, both go into the buffer of our own: of the piece no more than completes that
// event, so that a burst is not copied (BenchmarkClientPerToken in pkg/load).
func (d *Decoder) fillPiece() (err error) {
	d.moveData()
	front := append(d.own[:0], d.buf[d.line:d.end]...)
	piece := d.later
	if d.later = nil; len(piece) == 0 {
		piece, d.at, err = d.pieces.NextPiece()
		d.received += int64(len(piece))
	}
	if d.own, d.buf = front, piece; len(front) > 0 {
		if end := bytes.Index(piece, eventEnd); end >= 0 && err == nil {
			piece, d.later = piece[:end+len(eventEnd)], piece[end+len(eventEnd):]
		}
		d.own = append(front, piece...)
		d.buf = d.own
	}
	d.scan -= d.line
	d.line, d.end = 0, len(d.buf)
	return err
}

// eventEnd is how nearly all servers end an event.
var eventEnd = []byte("\n\n")

// makeRoom leaves room for a read: it moves the current line to the front of the
// buffer and grows it where that is not enough.
func (d *Decoder) makeRoom() {
	if len(d.buf)-d.end >= readSpace {
		return
	}
	d.moveData()
	rest := d.buf[d.line:d.end]
	if len(rest)+readSpace > len(d.buf) {
		d.own = make([]byte, max(readSpace+readSpace/2, 2*len(d.buf)))
	}
	copy(d.own, rest)
	d.buf = d.own
	d.scan -= d.line
	d.line, d.end = 0, len(rest)
}
