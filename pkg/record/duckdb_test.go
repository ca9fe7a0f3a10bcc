package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// duckDB runs statements in DuckDB, an implementation of Parquet that is not ours.
// A result is rows of texts, nil for NULL.
func duckDB(t *testing.T, statements ...string) [][][]*string {
	t.Helper()
	modules := os.Getenv("BG_NODE_MODULES")
	if modules == "" {
		modules = filepath.Join("testdata", "duckdb", "node_modules")
	}
	if _, err := os.Stat(filepath.Join(modules, "@duckdb", "node-api")); err != nil {
		t.Skip("DuckDB is not installed: run `make npm`, or name a folder that holds @duckdb/node-api in BG_NODE_MODULES")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("DuckDB is installed for Node.js, but there is no node on the PATH")
	}
	modules, err = filepath.Abs(modules)
	must(t, err)
	input, err := json.Marshal(statements)
	must(t, err)
	cmd := exec.Command(node, filepath.Join("testdata", "duckdb", "query.mjs"), modules)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("DuckDB: %v\n%s", err, stderr.String())
	}
	var results [][][]*string
	must(t, json.Unmarshal(output, &results))
	return results
}

// duckTypes are DuckDB's names for the types of columns.
var duckTypes = map[string]string{
	"utf8":                   "VARCHAR",
	"bool":                   "BOOLEAN",
	"int32":                  "INTEGER",
	"int64":                  "BIGINT",
	"float64":                "DOUBLE",
	"timestamp[us, tz=UTC]":  "TIMESTAMP WITH TIME ZONE",
	"list<element: float32>": "FLOAT[]",
	"list<element: int32>":   "INTEGER[]",
}

func TestDuckDBFindsTheTypesAndTheNulls(t *testing.T) {
	inDuckDB[Request](t)
	inDuckDB[Job](t)
	inDuckDB[Sample](t)
}

func inDuckDB[T Row](t *testing.T) {
	s := schemaOf[T]()
	t.Run(s.name, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), s.name+".parquet")
		rows := someRows[T](1000)
		w, err := Create[T](path, map[string]string{"bg.run": `{"trial":1}`})
		must(t, err)
		for part := range slices.Chunk(rows, 64) {
			must(t, w.Write(part...))
		}
		must(t, w.Close())

		count := "SELECT count(*)"
		for _, c := range s.columns {
			count += fmt.Sprintf(", count(*) - count(%q)", c.name)
		}
		results := duckDB(t,
			fmt.Sprintf("DESCRIBE SELECT * FROM '%s'", path),
			fmt.Sprintf("%s FROM '%s'", count, path),
			fmt.Sprintf("SELECT decode(key), decode(value) FROM parquet_kv_metadata('%s') ORDER BY 1", path),
			fmt.Sprintf("SELECT name FROM parquet_schema('%s') LIMIT 1", path),
		)

		types, wantNulls := results[0], nulls(rows)
		if len(types) != len(s.columns) {
			t.Fatalf("found %d columns, expected %d", len(types), len(s.columns))
		}
		for i, c := range s.columns {
			if want := duckTypes[c.arrow.String()]; *types[i][0] != c.name || *types[i][1] != want {
				t.Errorf("column %d: found %s %s, expected %s %s (%s)", i, *types[i][0], *types[i][1], c.name, want, c.arrow)
			}
			if found, _ := strconv.Atoi(*results[1][0][i+1]); found != wantNulls[c.name] {
				t.Errorf("%s: found %d nulls, expected %d", c.name, found, wantNulls[c.name])
			}
		}
		if found := *results[1][0][0]; found != "1000" {
			t.Errorf("found %s rows, expected 1000", found)
		}
		if found := fmt.Sprint(texts(results[2])); found != fmt.Sprintf(`[[bg.run {"trial":1}] [bg.schema %s]]`, s.tag()) {
			t.Errorf("metadata: found %s", found)
		}
		if found := *results[3][0][0]; found != s.name {
			t.Errorf("root: found %s, expected %s", found, s.name)
		}
	})
}

func TestDuckDBFindsTheValues(t *testing.T) {
	dir := t.TempDir()
	row := goldenRequest()
	w, err := Create[Request](filepath.Join(dir, "requests.parquet"), nil)
	must(t, err)
	must(t, w.Write(row))
	must(t, w.Close())
	got := texts(duckDB(t, "SET TimeZone = 'UTC'", fmt.Sprintf(
		`SELECT due_at::VARCHAR, epoch_us(sent_at), done_at IS NULL, ttft_s, chunk_gap_s::VARCHAR, chunk_tokens::VARCHAR, http_status,
		 cycle, warmup, error IS NULL, output_sha256 FROM '%s'`, filepath.Join(dir, "requests.parquet")))[1])
	want := [][]string{{
		"2026-11-29 12:00:00.000001+00", "1795953600123456", "true", "0.25", "[0.5, 0.25]", "[1, 2, 3]", "200", "0", "false", "true", "",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// A user may filter a file with DuckDB, which makes every column optional and drops
// our metadata.
func TestFilesThatDuckDBWroteCanBeRead(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "requests.parquet"), filepath.Join(dir, "copy.parquet")
	rows := someRows[Request](100)
	w, err := Create[Request](ours, nil)
	must(t, err)
	must(t, w.Write(rows...))
	must(t, w.Close())
	broken := filepath.Join(dir, "broken.parquet")
	duckDB(t,
		fmt.Sprintf("COPY (SELECT *, 1 AS more FROM '%s') TO '%s' (FORMAT parquet)", ours, theirs),
		fmt.Sprintf("COPY (SELECT * REPLACE (nullif(arm, 'a') AS arm) FROM '%s') TO '%s' (FORMAT parquet)", ours, broken))
	if diff := cmp.Diff(readAll[Request](t, ours), readAll[Request](t, theirs)); diff != "" {
		t.Errorf("rows (-ours +theirs):\n%s", diff)
	}
	_, err = ReadFile[Request](broken)
	wantError(t, err, "reading "+broken+": column arm: found ", " nulls, expected none")
}

func texts(rows [][]*string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, v := range row {
			if v == nil {
				out[i] = append(out[i], "NULL")
			} else {
				out[i] = append(out[i], *v)
			}
		}
	}
	return out
}
