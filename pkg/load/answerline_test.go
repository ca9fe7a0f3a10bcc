package load

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// lineSorted is a line as the llm-d batch gateway writes it (recorded from its
// processor at commit b7ff6a2, 2026-08-20; text shortened).
const lineSorted = `{"id":"batch_req_1","custom_id":"a","response":{"status_code":200,"request_id":"r1","body":{"choices":[{"finish_reason":"length","index":0,"message":{"content":" the of","role":"assistant"}}],"created":1767225630,"id":"chatcmpl-1","model":"Qwen/Qwen3-8B","object":"chat.completion","usage":{"completion_tokens":2,"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4},"total_tokens":11}}},"error":null}` + "\n"

func TestScanAnswerKnowsTheGatewaysLine(t *testing.T) {
	got, ok := scanAnswer([]byte(lineSorted))
	if !ok {
		t.Fatal("the line was left to encoding/json")
	}
	want, err := decodeResult([]byte(lineSorted))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, want %+v (%v)", got, want, err)
	}
}

func TestScanAnswerLeavesOtherLinesAlone(t *testing.T) {
	for name, change := range map[string][2]string{
		"an escape in the text":        {" the of", `the\n`},
		"a text outside ASCII":         {" the of", "één"},
		"a key more":                   {`"created"`, `"x":1,"created"`},
		"another role":                 {"assistant", "user"},
		"a second choice":              {"}}],", "}},{}],"},
		"another status":               {"200", "429"},
		"an error beside the response": {`"error":null`, `"error":{"code":"x","message":"y"}`},
		"a number with a zero before":  {":11}", ":011}"},
		"a fraction":                   {":11}", ":11.0}"},
		"a count that cannot be one":   {":11}", ":11000000000}"},
		"no details":                   {`,"prompt_tokens_details":{"cached_tokens":4}`, ""},
		"text after the line":          {"null}", "null} {}"},
		"a line that was cut":          {`"error":null}`, ""},
	} {
		line := strings.Replace(lineSorted, change[0], change[1], 1)
		if line == lineSorted {
			t.Fatalf("%s: nothing changed", name)
		}
		if got, ok := scanAnswer([]byte(line)); ok {
			t.Errorf("%s: found %+v, want that encoding/json decides", name, got)
		}
	}
}

func FuzzScanAnswerAgreesWithJSON(f *testing.F) {
	f.Add(lineSorted)
	f.Add(strings.Replace(lineSorted, "r1", "", 1))
	f.Add(lineOK)
	f.Add(line429)
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := scanAnswer([]byte(line))
		if !ok {
			return
		}
		want, err := decodeResult([]byte(line))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: found %+v, encoding/json %+v (%v)", line, got, want, err)
		}
	})
}

// BenchmarkReadResults reads the output file of a job of 100 answers with 500 tokens.
func BenchmarkReadResults(b *testing.B) {
	var file strings.Builder
	for i := range 100 {
		line := strings.Replace(lineSorted, " the of", strings.Repeat(" the of", 250), 1)
		file.WriteString(strings.Replace(line, `"a"`, fmt.Sprintf(`"a%d"`, i), 1))
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if results, err := readResults("output", strings.NewReader(file.String())); err != nil || len(results) != 100 {
			b.Fatal(len(results), err)
		}
	}
}
