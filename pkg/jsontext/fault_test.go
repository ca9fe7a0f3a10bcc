package jsontext

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestFaultNamesPlaceAndKindWithoutGoTypes(t *testing.T) {
	type inner struct{ N int }
	type outer struct {
		A    inner
		List []string
		X    float64
		S    string
		B    bool
	}
	for name, test := range map[string]struct{ text, want string }{
		"an array for an object":     {"\n[1]", "f.json:2: found a JSON array, expected an object"},
		"text for a whole number":    {"{\"A\":\n{\"N\":\"one\"}}", "f.json:2: A.N: found a JSON string, expected a whole number"},
		"an object for an array":     {`{"List":{}}`, "f.json:1: List: found a JSON object, expected an array"},
		"text for a number":          {`{"X":"1"}`, "f.json:1: X: found a JSON string, expected a number"},
		"a number for text":          {`{"S":1}`, "f.json:1: S: found a JSON number, expected a string"},
		"a number for a truth value": {`{"B":1}`, "f.json:1: B: found a JSON number, expected true or false"},
		"no JSON":                    {"{\n,}", "f.json:2: not JSON: invalid character ',' looking for beginning of object key string"},
		"nothing":                    {"", "f.json:1: not JSON: unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Fault("f.json", []byte(test.text), 0, json.Unmarshal([]byte(test.text), new(outer)))
			if err == nil || err.Error() != test.want {
				t.Errorf("found %v, expected %s", err, test.want)
			}
		})
	}
	if err := Fault("f.json", nil, 0, nil); err != nil {
		t.Errorf("found %v of nothing wrong", err)
	}
	if err := Decode("f.json", []byte(`{"S":"s"}`), new(outer)); err != nil {
		t.Errorf("found %v of nothing wrong", err)
	}
	strict := json.NewDecoder(strings.NewReader(`{"Q":1}`))
	strict.DisallowUnknownFields()
	for text, err := range map[string]error{
		"S: found a JSON number, expected a string":                                            json.Unmarshal([]byte(`{"S":1}`), new(outer)),
		"found a JSON array, expected an object":                                               json.Unmarshal([]byte(`[]`), new(outer)),
		"not JSON at byte 2: invalid character ',' looking for beginning of object key string": json.Unmarshal([]byte(`{,}`), new(outer)),
		"Q: found a key that is not known":                                                     strict.Decode(new(outer)),
		"cut off or not JSON: EOF":                                                             json.NewDecoder(strings.NewReader("")).Decode(new(outer)),
	} {
		if Line(err).Error() != text {
			t.Errorf("found %v, expected %s", Line(err), text)
		}
	}
	var empty outer
	cut := json.NewDecoder(strings.NewReader("")).Decode(&empty)
	if err := Fault("f.json", nil, 0, cut); err.Error() != "f.json: cut off or not JSON: EOF" {
		t.Errorf("found %v", err)
	}
	if err := Fault("f.json", nil, 0, errors.New("too long")); err.Error() != "f.json: too long" {
		t.Errorf("found %v", err)
	}
}
