package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"bgbench/pkg/random"
	"bgbench/pkg/spec"
)

type message struct {
	Role    string `parquet:"role"`
	Content string `parquet:"content"`
}

type article struct {
	ID       int64     `parquet:"id"`
	Text     string    `parquet:"article"`
	Summary  *string   `parquet:"highlights,optional"`
	Messages []message `parquet:"messages,list"`
}

func parquetFile(t testing.TB, rows ...article) string {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func file(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "texts")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, s spec.Source, content string) ([]Row, error) {
	t.Helper()
	s.File = file(t, content)
	var rows []Row
	d, err := Read(s, func(r Row) error {
		rows = append(rows, slices.Clone(r))
		return nil
	})
	if err == nil && (d.Rows != len(rows) || d.Bytes != int64(len(content)) || len(d.SHA256) != 64) {
		t.Errorf("the digest says %+v, found %d rows of %d bytes", d, len(rows), len(content))
	}
	if err != nil {
		err = fmt.Errorf("%s", strings.ReplaceAll(err.Error(), s.File, "FILE"))
	}
	return rows, err
}

func TestReadersFindTheTexts(t *testing.T) {
	summary := "Rain."
	for name, c := range map[string]struct {
		source  spec.Source
		content string
		want    []Row
	}{
		"ShareGPT's turns become exchanges": {spec.Source{Type: spec.ShareGPT},
			`[{"id":"a","conversations":[{"from":"system","value":"s"},{"from":"human","value":"q1"},{"from":"gpt","value":"a1"},{"from":"human","value":"q2"}]},
			  {"id":"b","conversations":[{"from":"gpt","value":"a0"},{"from":"human","value":"q3"},{"from":"gpt","value":"a3"}]},
			  {"id":"c","conversations":[]}]`,
			[]Row{{{"q1", "a1"}, {"q2", ""}}, {{"q3", "a3"}}}},
		"a conversation ends where two questions follow one another": {spec.Source{Type: spec.ShareGPT},
			`[{"conversations":[{"role":"user","content":"q1"},{"role":"user","content":"q2"}]}]`, []Row{{{"q1", ""}}}},
		"a question of MMLU has its choices": {spec.Source{Type: spec.MMLU},
			"\"Is it, really?\",yes,no,both,neither,B\n", []Row{{{"Is it, really?\nA. yes\nB. no\nC. both\nD. neither\nAnswer:", "B"}}}},
		"the head of MMLU is no question": {spec.Source{Type: spec.MMLU},
			"question,A,B,C,D,answer\nq,1,2,3,4,A\n", []Row{{{"q\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:", "A"}}}},
		"a field of JSON lines": {spec.Source{Type: spec.JSONLines, Field: "in.0.text", Answer: "out"},
			`{"in":[{"text":"q1"}],"out":"a1"}` + "\n\n" + `{"in":[{"text":"q2"}],"out":null}`, []Row{{{"q1", "a1"}}, {{"q2", ""}}}},
		"a list of turns in JSON lines": {spec.Source{Type: spec.JSONLines, Field: "messages"},
			`{"messages":[{"role":"user","content":"q1"},{"role":"assistant","content":"a1"}]}`, []Row{{{"q1", "a1"}}}},
		"a column of Parquet": {spec.Source{Type: spec.Parquet, Field: "article", Answer: "highlights"},
			parquetFile(t, article{Text: "It rained.", Summary: &summary}, article{Text: ""}, article{Text: "It did not."}),
			[]Row{{{"It rained.", "Rain."}}, {{"It did not.", ""}}}},
		"a list of turns in Parquet": {spec.Source{Type: spec.Parquet, Field: "messages"},
			parquetFile(t, article{Messages: []message{{"user", "q1"}, {"assistant", "a1"}, {"user", "q2"}}}), []Row{{{"q1", "a1"}, {"q2", ""}}}},
		"an item of a list in Parquet": {spec.Source{Type: spec.Parquet, Field: "messages.1.content"},
			parquetFile(t, article{Messages: []message{{"user", "q1"}, {"assistant", "a1"}}}), []Row{{{"a1", ""}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, c.source, c.content)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("found %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestReadersSayWhereAFileIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		source        spec.Source
		content, want string
	}{
		"no list":                    {spec.Source{Type: spec.ShareGPT}, `{"conversations":[]}`, "FILE: found {, expected a list of objects with conversations"},
		"nothing at all":             {spec.Source{Type: spec.ShareGPT}, ``, "FILE: found no JSON (the file ends too early), expected a list of conversations"},
		"a list that is cut":         {spec.Source{Type: spec.ShareGPT}, `[{"conversations":[{"from":"human","value":"q"}]},{"conv`, "FILE: conversation 2: the file ends too early"},
		"a list without an end":      {spec.Source{Type: spec.ShareGPT}, `[{"conversations":[{"from":"human","value":"q"}]}`, "FILE: conversation 2: the file ends too early"},
		"no text in it":              {spec.Source{Type: spec.ShareGPT}, `[]`, "FILE: found no row with a text, expected one or more"},
		"a column too few":           {spec.Source{Type: spec.MMLU}, "q,1,2,3,4,A\nq,1,2,3,A\n", "FILE: line 2: found 5 columns, expected 6: the question, four choices, the answer"},
		"a quote without an end":     {spec.Source{Type: spec.MMLU}, "\"q,1,2,3,4,A\n", "FILE: parse error on line 1, column 14: extraneous or missing"},
		"a key that is not there":    {spec.Source{Type: spec.JSONLines, Field: "a.b"}, "{\"a\":{\"b\":\"x\"}}\n{\"a\":{}}\n", `FILE: line 2: field a.b: found no key "b"`},
		"a field that is a number":   {spec.Source{Type: spec.JSONLines, Field: "a"}, `{"a":1}`, "FILE: line 1: field a: found a number, expected a text or a list of turns"},
		"a list that is too short":   {spec.Source{Type: spec.JSONLines, Field: "a.3"}, `{"a":[]}`, "FILE: line 1: field a.3: found a list of 0, expected item 3"},
		"a text in the way":          {spec.Source{Type: spec.JSONLines, Field: "a.b"}, `{"a":"x"}`, `FILE: line 1: field a.b: found a text before "b", expected an object or a list`},
		"turns that are texts":       {spec.Source{Type: spec.JSONLines, Field: "a"}, `{"a":["x"]}`, "FILE: line 1: turn 0: found a text, expected an object of role and content, or from and value"},
		"an answer that is a list":   {spec.Source{Type: spec.JSONLines, Field: "a", Answer: "b"}, `{"a":"x","b":[]}`, "FILE: line 1: answer b: found a list, expected a text"},
		"a line that is no JSON":     {spec.Source{Type: spec.JSONLines, Field: "a"}, "x", "FILE: line 1: not JSON at byte 1: invalid character 'x' looking for beginning of value"},
		"a column that is not there": {spec.Source{Type: spec.Parquet, Field: "b"}, parquetFile(t, article{Text: "x"}), `FILE: row 1: field b: found no key "b"`},
		"what is no Parquet":         {spec.Source{Type: spec.Parquet, Field: "b"}, "question,A,B,C,D,answer", "FILE: found no Parquet file: invalid magic header of parquet file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, c.source, c.content)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("found %v, want %s", err, c.want)
			}
		})
	}
}

func TestALargerSampleBeginsWithTheSmallerOne(t *testing.T) {
	sample := func(most int, seed int64) []Row {
		s := NewSample(most, random.Stream(seed, "test"))
		for i := range 1000 {
			s.Add(Row{{User: fmt.Sprint(i)}})
		}
		return s.Rows()
	}
	large := sample(100, 1)
	if small := sample(10, 1); !reflect.DeepEqual(small, large[:10]) {
		t.Errorf("found %v, want %v", small, large[:10])
	}
	if reflect.DeepEqual(large, sample(100, 2)) {
		t.Error("another seed gives the same rows")
	}
	seen := map[string]bool{}
	for _, r := range sample(2000, 1) {
		seen[r[0].User] = true
	}
	if len(seen) != 1000 {
		t.Errorf("a sample of all rows has %d of them, want 1000", len(seen))
	}
}

func fuzzReader(f *testing.F, s spec.Source, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		rows, err := read(t, s, string(content))
		for _, r := range rows {
			if len(r) == 0 || r[0].User == "" {
				t.Fatalf("found a row without a text (%v)", err)
			}
		}
	})
}

func FuzzShareGPT(f *testing.F) {
	fuzzReader(f, spec.Source{Type: spec.ShareGPT}, `[{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]}]`, `[]`, `[{`, `[1]`)
}

func FuzzMMLU(f *testing.F) {
	fuzzReader(f, spec.Source{Type: spec.MMLU}, "question,A,B,C,D,answer\nq,1,2,3,4,A\n", "\"q\n", "")
}

func FuzzLines(f *testing.F) {
	fuzzReader(f, spec.Source{Type: spec.JSONLines, Field: "a.0"}, `{"a":["x"]}`, `{"a":[[{"role":"user","content":"q"}]]}`, `{"a":null}`)
}

func FuzzParquet(f *testing.F) {
	fuzzReader(f, spec.Source{Type: spec.Parquet, Field: "messages"},
		parquetFile(f, article{Text: "x", Messages: []message{{"user", "q"}}}), "PAR1")
}
