package scrape

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
)

// Conversion is what a user says of a Convert.
type Conversion struct {
	From, To string        // files; - for the streams
	Base     record.Sample // columns of rows that text has none of
	// Wide makes a file with a column for each series, of Metrics if there are any.
	Wide    bool
	Metrics []string
}

// Convert makes rows of OpenMetrics text and OpenMetrics text of rows, or a wide file of
// either. Rows on standard output are an Arrow IPC stream.
func Convert(c Conversion, stdin io.Reader, stdout io.Writer) error {
	in, name, done, err := c.open(stdin)
	if err != nil {
		return cli.Usage(err)
	}
	defer done()
	isRows, err := hasRows(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	switch {
	case isRows && c.Wide:
		return writeWide(c, in.Name(), stdout)
	case isRows:
		return writeText(c, in.Name(), stdout)
	case c.Wide:
		folder, err := os.MkdirTemp(filepath.Dir(c.To), ".convert-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		long := filepath.Join(folder, "long.parquet")
		if err := ImportFile(in, name, c.Base, long); err != nil {
			return err
		}
		return writeWide(c, long, stdout)
	case c.To == "-":
		return importStream(in, name, c.Base, stdout)
	}
	return ImportFile(in, name, c.Base, c.To)
}

// open opens what is read, which is read twice: standard input goes to a file first.
func (c Conversion) open(stdin io.Reader) (in *os.File, name string, done func(), err error) {
	if c.From != "-" {
		in, err = os.Open(c.From)
		return in, c.From, func() { in.Close() }, err
	}
	if in, err = os.CreateTemp("", "bg-scrape-*"); err != nil {
		return nil, "", nil, err
	}
	done = func() { in.Close(); os.Remove(in.Name()) }
	if _, err = io.Copy(in, stdin); err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
	}
	return in, "standard input", done, err
}

func writeText(c Conversion, from string, stdout io.Writer) error {
	rows, err := record.ReadFile[record.Sample](from)
	if err != nil {
		return cli.Usage(err)
	}
	defer rows.Close()
	return cli.WriteFile(stdout, c.To, func(w io.Writer) error {
		return Export(w, record.SortSamples(filepath.Dir(c.To), rows.All()))
	})
}

func writeWide(c Conversion, from string, stdout io.Writer) error {
	rows, err := record.ReadFile[record.Sample](from)
	if err != nil {
		return cli.Usage(err)
	}
	defer rows.Close()
	return cli.WriteFile(stdout, c.To, func(w io.Writer) error {
		_, err := record.WriteWide(w, rows.All(), c.Metrics...)
		switch {
		case errors.Is(err, record.ErrTooWide):
			return cli.WithHint(cli.Usage(err), "name those that matter with --metric")
		case errors.Is(err, record.ErrNothingWide):
			return cli.Usage(err)
		}
		return err
	})
}

// hasRows looks at the beginning of a file: Parquet, Arrow and the log of samples begin
// as no text does.
func hasRows(in io.ReadSeeker) (bool, error) {
	var head [4]byte
	n, err := io.ReadFull(in, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	_, err = in.Seek(0, io.SeekStart)
	begin := string(head[:n])
	return begin == "PAR1" || begin == "BGS1" || begin == "\xff\xff\xff\xff", err
}
