package scrape

import (
	"errors"
	"fmt"
	"io"
	"os"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
)

// Import reads OpenMetrics text with timestamps and gives its samples to write, in
// pieces. It reads the text twice: first which families there are. Labels that Export
// made of columns become columns again; base has the columns of who has none.
func Import(in io.ReadSeeker, base record.Sample, write func([]record.Sample) error) error {
	names, err := familyNames(in)
	if err != nil {
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	page := newTextPage(base)
	page.expose(names)
	text := newOpenMetrics(in)
	var rows []record.Sample
	for {
		s, err := text.next()
		if errors.Is(err, io.EOF) {
			return write(rows)
		}
		if err != nil {
			return err
		}
		if s.at.IsZero() {
			return text.errorf("found no timestamp of %s, expected one of every sample", shown(string(s.series)))
		}
		row, err := page.row(s)
		if err != nil {
			return text.errorf("%w", err)
		}
		row.At = s.at
		if rows = append(rows, row); len(rows) == importRows {
			if err := write(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
}

const importRows = 4096

// ImportFile is Import into the Parquet file called path. name is that of the text, for
// errors.
func ImportFile(in io.ReadSeeker, name string, base record.Sample, path string) error {
	out, err := record.Create[record.Sample](path, nil)
	if err != nil {
		return err
	}
	if err := importTo(out.Write, in, name, base); err != nil {
		return errors.Join(err, out.Abandon(), os.Remove(record.Partial(path)))
	}
	return out.Close()
}

// importStream is Import into an Arrow IPC stream.
func importStream(in io.ReadSeeker, name string, base record.Sample, w io.Writer) error {
	out, err := record.NewStreamWriter[record.Sample](w, nil)
	if err != nil {
		return err
	}
	if err := importTo(out.Write, in, name, base); err != nil {
		return err
	}
	return out.Close()
}

// importTo fails with a usage error where the text is to blame.
func importTo(write func(...record.Sample) error, in io.ReadSeeker, name string, base record.Sample) error {
	rows := 0
	var writing error
	err := Import(in, base, func(some []record.Sample) error {
		rows += len(some)
		writing = write(some...)
		return writing
	})
	if err == nil && rows == 0 {
		err = errors.New("found no samples")
	}
	if err == nil || writing != nil {
		return writing
	}
	return cli.Usage(fmt.Errorf("%s: %w", name, err))
}
