package analysis

import (
	"strings"
	"testing"
)

func TestReadResultsNamesWhatIsWrong(t *testing.T) {
	head := `{"schema_version":"bgbench.results/1",`
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "results.json: empty"},
		{"not JSON", "{\n\"arms\": [\n}", "results.json:3: not JSON: invalid character '}'"},
		{"cut off", "{\n\"arms\": [", "results.json:2: not JSON: unexpected end of JSON input"},
		{"more than one value", "{}\n{}", "results.json:2: not JSON: invalid character '{' after top-level value"},
		{"a list", "[1]", "results.json:1: found a JSON array, expected an object"},
		{"no version", `{"arms":[]}`, `schema_version: missing, expected "bgbench.results/1"`},
		{"a newer version", `{"schema_version":"bgbench.results/9"}`, `schema_version: found "bgbench.results/9", expected "bgbench.results/1": a newer version wrote it`},
		{"an older version", `{"schema_version":"bgbench.results/0"}`, `expected "bgbench.results/1": an older version wrote it, make it anew`},
		{"another schema", `{"schema_version":"0.2"}`, `schema_version: found "0.2", expected "bgbench.results/1": it is no results.json of ours`},
		{"a text for a number", head + "\n\"arms\":[{\"name\":\"a\",\n\"trials\":\"two\"}]}", "results.json:3: arms.trials: found a JSON string, expected a whole number"},
		{"no arms", head + `"arms":[]}`, "results.json: arms: missing or empty"},
		{"an arm without a name", head + `"arms":[{}]}`, "arms[0].name: missing"},
		{"an arm twice", head + `"arms":[{"name":"a"},{"name":"a"}]}`, `arms[1].name: found "a", which arms[0] has already`},
		{"two baselines", head + `"arms":[{"name":"a","baseline":true},{"name":"b","baseline":true}]}`, "arms[1].baseline: found true"},
		{"a cell of no arm", head + `"arms":[{"name":"a"}],"cells":[{"arm":"b","trial":1}]}`, `cells[0].arm: found "b"`},
		{"a cell without a trial", head + `"arms":[{"name":"a"}],"cells":[{"arm":"a"}]}`, "cells[0].trial: found 0, expected 1 or more"},
		{"a cell twice", head + `"arms":[{"name":"a"}],"cells":[{"arm":"a","trial":1},{"arm":"a","trial":1}]}`, "cells[1]: found trial 1 of arm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadResults(strings.NewReader(c.text), "results.json")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
