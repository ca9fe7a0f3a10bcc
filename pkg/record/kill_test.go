package record

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("BG_TEST_WRITE_UNTIL_KILLED"); path != "" {
		writeUntilKilled(path)
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
