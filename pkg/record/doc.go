// Package record holds the row types of an experiment and their codecs.
//
// There are three rows: Request (one per attempt), Job (one per poll of a batch
// job) and Sample (one per scraped value). The Go struct is the schema. Rows at
// rest are Parquet, in parquet-go's formats; rows on a pipe or in an unfinished
// file are an Arrow IPC stream, because Parquet needs its footer to be read. The
// unfinished file of samples is a log that is many times smaller.
//
// A row keeps what was observed and derives nothing that needs another row.
// Instants are UTC with microseconds (DuckDB cuts nanoseconds off, Spark refuses
// them); durations are float64 seconds taken from the monotonic clock and never
// the difference of two instants. A value that does not exist is null, never 0.
// Every nullable column is a pointer field: parquet-go writes wrong nulls for
// value fields tagged optional (parquet-go/parquet-go#154).
//
// A file is written beside its name and renamed when it is whole:
//
//	w, err := record.Create[record.Job]("cell/jobs.parquet", nil) // cell/jobs.parquet.partial
//	err = w.Write(rows...)                                        // there within a second
//	err = w.Close()                                               // cell/jobs.parquet
//
//	r, err := record.ReadFile[record.Job]("cell/jobs.parquet")
//	for row, err := range r.All() {
//
// bg-load and bg-scrape write rows, bg-analyze reads them, and anyone else reads
// them with DuckDB, pandas or polars.
package record
