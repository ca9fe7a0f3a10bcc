package record

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("BG_TEST_WRITE_UNTIL_KILLED"); path != "" {
		writeUntilKilled(path)
	}
	if path := os.Getenv("BG_TEST_SAMPLE_UNTIL_KILLED"); path != "" {
		sampleUntilKilled(path)
	}
	os.Exit(m.Run())
}

// writeUntilKilled says when a first batch is written and goes on with a second.
func writeUntilKilled(path string) {
	w, err := Create[Job](path, nil)
	if err != nil {
		panic(err)
	}
	for i := range batchRows + 10 {
		if err := w.Write(Job{Total: int64(i)}); err != nil {
			panic(err)
		}
	}
	os.Stdout.WriteString("written\n")
	select {}
}

func TestKilledWriterLosesNoWholeBatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BG_TEST_WRITE_UNTIL_KILLED="+path)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as asked for
	rows, err := Recover[Job](Partial(path), path)
	must(t, err)
	// The rest may have been written by the second that passed.
	if rows != batchRows && rows != batchRows+10 {
		t.Errorf("found %d rows, expected %d or 10 more", rows, batchRows)
	}
}

// sampleUntilKilled says when its rows have waited for as long as a row may.
func sampleUntilKilled(path string) {
	w, err := Create[Sample](path, nil)
	if err != nil {
		panic(err)
	}
	if err := w.Write(benchSamples(3)...); err != nil {
		panic(err)
	}
	for flushedRows(path) < 3000 {
		time.Sleep(flushEvery / 100)
	}
	os.Stdout.WriteString("written\n")
	select {}
}

// flushedRows counts what a copy of the file has at this moment. Its size says too little: a
// frame that is being written has some of it already.
func flushedRows(path string) int64 {
	data, err := os.ReadFile(Partial(path))
	if err != nil {
		panic(err)
	}
	copied := Partial(path + ".copy")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		panic(err)
	}
	rows, err := Recover[Sample](copied, path+".counted")
	if err != nil {
		return 0
	}
	return rows
}

func TestKilledWriterOfSamplesLosesNoFlushedRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BG_TEST_SAMPLE_UNTIL_KILLED="+path)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as asked for
	rows, err := Recover[Sample](Partial(path), path)
	must(t, err)
	if rows != 3000 || len(readAll[Sample](t, path)) != 3000 {
		t.Errorf("found %d rows, expected 3000", rows)
	}
}
