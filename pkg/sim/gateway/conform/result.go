package conform

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// compareJSON notes where two JSON values differ, path by path.
func (o *outcome) compareJSON(path string, got, want any) {
	gotMap, ok1 := got.(map[string]any)
	wantMap, ok2 := want.(map[string]any)
	if ok1 && ok2 {
		keys := map[string]bool{}
		for key := range gotMap {
			keys[key] = true
		}
		for key := range wantMap {
			keys[key] = true
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			g, inGot := gotMap[key]
			w, inWant := wantMap[key]
			switch {
			case !inGot:
				o.differ("%s.%s: got none, want %s", path, key, compact(w))
			case !inWant:
				o.differ("%s.%s: got %s, want none", path, key, compact(g))
			default:
				o.compareJSON(path+"."+key, g, w)
			}
		}
		return
	}
	gotList, ok1 := got.([]any)
	wantList, ok2 := want.([]any)
	if ok1 && ok2 && len(gotList) == len(wantList) {
		for i := range gotList {
			o.compareJSON(fmt.Sprintf("%s[%d]", path, i), gotList[i], wantList[i])
		}
		return
	}
	if !reflect.DeepEqual(got, want) {
		o.differ("%s: got %s, want %s", path, compact(got), compact(want))
	}
}

// compact writes v on one line, cut where it is long.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	const most = 300
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// id is what the gateway draws at random.
var id = regexp.MustCompile(`\b(batch_req|batch|file)_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// hideIDs replaces ids by their kind.
func hideIDs(text string) string { return id.ReplaceAllString(text, "${1}_ID") }

// hideInstants reduces instants to whether they are there, but for the distance of
// expires_at from created_at.
func hideInstants(v any) any {
	switch v := v.(type) {
	case map[string]any:
		created, _ := v["created_at"].(float64)
		for key, member := range v {
			instant, isNumber := member.(float64)
			switch {
			case !strings.HasSuffix(key, "_at") || !isNumber:
				v[key] = hideInstants(member)
			case key == "expires_at":
				v[key] = instant - created
			default:
				v[key] = "set"
			}
		}
	case []any:
		for i := range v {
			v[i] = hideInstants(v[i])
		}
	}
	return v
}

// resultLines reads a result file: its lines by custom_id, ids hidden. Go words a
// timeout in three ways, depending on where it strikes; here they are one.
func (o *outcome) resultLines(what, text string) []any {
	var lines []map[string]any
	for row := range strings.Lines(text) {
		var line map[string]any
		if err := json.Unmarshal([]byte(row), &line); err != nil {
			o.differ("%s: got a line that is no JSON object (%v): %s", what, err, compact(row))
			continue
		}
		lineID, _ := line["id"].(string)
		if !strings.HasPrefix(lineID, "batch_req_") {
			o.differ("%s: got the id %q, want batch_req_…", what, lineID)
		}
		if response, ok := line["response"].(map[string]any); ok {
			if response["request_id"] != line["id"] {
				o.differ("%s: got the request_id %v in line %v, want the same", what, response["request_id"], line["id"])
			}
			response["request_id"] = "ID"
		}
		line["id"] = "ID"
		if e, ok := line["error"].(map[string]any); ok {
			if message, _ := e["message"].(string); strings.Contains(message, "imeout") || strings.Contains(message, "deadline exceeded") {
				e["message"] = "timeout"
			}
		}
		lines = append(lines, line)
	}
	slices.SortStableFunc(lines, func(a, b map[string]any) int {
		return strings.Compare(fmt.Sprint(a["custom_id"]), fmt.Sprint(b["custom_id"]))
	})
	list := make([]any, len(lines))
	for i, line := range lines {
		list[i] = line
	}
	return list
}

// compareResults notes where two result files differ, lines in any order.
func (o *outcome) compareResults(what, got, want string) {
	gotLines, wantLines := o.resultLines(what, got), o.resultLines(what+" as recorded", want)
	if len(gotLines) != len(wantLines) {
		o.differ("%s: got %d lines, want %d", what, len(gotLines), len(wantLines))
		return
	}
	o.compareJSON(what, gotLines, wantLines)
}
