package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/record"
)

// Format of a file that Import reads.
type Format string

// Formats. Auto looks at the content.
const (
	Auto                    Format = "auto"
	GuidellmJSON            Format = "guidellm-json"
	GuidellmCSV             Format = "guidellm-csv"
	InferencePerf           Format = "inference-perf"
	InferencePerfPerRequest Format = "inference-perf-per-request"
	VLLMBench               Format = "vllm-bench"
	AIPerfJSON              Format = "aiperf-json"
	AIPerfJSONL             Format = "aiperf-jsonl"
)

// Formats lists what Import reads.
var Formats = []Format{
	GuidellmJSON, GuidellmCSV, InferencePerf, InferencePerfPerRequest, VLLMBench, AIPerfJSON, AIPerfJSONL,
}

var importers = map[Format]func(*source) error{
	GuidellmJSON: importGuidellm, GuidellmCSV: importGuidellmCSV,
	InferencePerf: importInferencePerf, InferencePerfPerRequest: importPerRequest,
	VLLMBench: importVLLM, AIPerfJSON: importAIPerf, AIPerfJSONL: importAIPerfRecords,
}

// Imported is what a file says. Rows are its records of requests; they have no place
// in an experiment of ours, so their arm is the name of the run. RowsMeta, the metadata
// for a file of them, says by which definitions their columns were measured.
type Imported struct {
	Document Document
	Rows     []record.Request
	RowsMeta map[string]string
}

// Import reads data, the file called name.
func Import(data []byte, name string, format Format) (Imported, error) {
	s := &source{name: name, data: data}
	if err := s.prepare(); err != nil {
		return Imported{}, err
	}
	if format == Auto {
		var err error
		if format, err = s.sniff(); err != nil {
			return Imported{}, err
		}
	}
	read, ok := importers[format]
	if !ok {
		return Imported{}, fmt.Errorf("format: found %q, expected auto or one of %s", format, joined(Formats))
	}
	s.format = format
	if err := read(s); err != nil {
		return Imported{}, err
	}
	if len(s.runs) == 0 {
		return Imported{}, fmt.Errorf("%s: found no run in it, expected at least one of %s", name, format)
	}
	return Imported{NewDocument(s.runs, s.warnings), s.rows, s.rowsMeta}, nil
}

func joined(formats []Format) string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// source is a file while it is read, and what was read so far.
type source struct {
	name   string
	data   []byte
	format Format

	runs     []Run
	rows     []record.Request
	rowsMeta map[string]string
	warnings []string
}

// run begins a run of the file.
func (s *source) run(tool, version, name string) Run {
	return Run{
		Tool: tool, ToolVersion: version, Format: s.format, Source: s.name, Name: name,
		Labels: map[string]string{}, Metrics: []Metric{},
	}
}

func (s *source) warn(format string, args ...any) {
	if warning := s.name + ": " + fmt.Sprintf(format, args...); !slices.Contains(s.warnings, warning) {
		s.warnings = append(s.warnings, warning)
	}
}

// prepare cuts a byte order mark off and makes JSON of what Python takes for JSON.
func (s *source) prepare() error {
	s.data = bytes.TrimPrefix(s.data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(s.data, " \t\r\n")
	if len(trimmed) == 0 {
		return fmt.Errorf("%s: empty, expected one of %s", s.name, joined(Formats))
	}
	if trimmed[0] == '{' || trimmed[0] == '[' {
		var replaced int
		if s.data, replaced = withoutNaN(s.data); replaced > 0 {
			s.warn("%d numbers are NaN or infinite and are left out", replaced)
		}
	}
	return nil
}

// sniff tells the format by the content.
func (s *source) sniff() (Format, error) {
	switch bytes.TrimLeft(s.data, " \t\r\n")[0] {
	case '{':
		return s.sniffObject()
	case '[':
		var records []map[string]json.RawMessage
		if err := s.decode(&records); err != nil {
			return "", err
		}
		if len(records) == 0 || has(records[0], "start_time", "end_time", "info") {
			return InferencePerfPerRequest, nil
		}
		return "", fmt.Errorf("%s: found an array of objects with %s, expected the records of inference-perf's per_request_lifecycle_metrics.json",
			s.name, keys(records[0]))
	}
	if firstLine, _, _ := bytes.Cut(s.data, []byte("\n")); bytes.Contains(firstLine, []byte(",")) {
		return GuidellmCSV, nil
	}
	return "", fmt.Errorf("%s: found %.20q at its start, expected JSON or CSV (one of %s)", s.name, s.data, joined(Formats))
}

func (s *source) sniffObject() (Format, error) {
	var first map[string]json.RawMessage
	if err := s.jsonError(json.NewDecoder(bytes.NewReader(s.data)).Decode(&first)); err != nil {
		return "", err
	}
	switch {
	case has(first, "benchmarks"):
		return GuidellmJSON, nil
	case has(first, "successes", "failures"):
		return InferencePerf, nil
	case has(first, "aiperf_version"), has(first, "input_config", "request_count"), has(first, "input_config", "error_request_count"):
		return AIPerfJSON, nil
	case has(first, "metadata", "metrics"):
		return AIPerfJSONL, nil
	case has(first, "request_throughput", "completed"):
		return VLLMBench, nil
	case bytes.Contains(s.data, []byte(`"t_critical"`)):
		return "", fmt.Errorf("%s: found aiperf's aggregate over runs, expected profile_export_aiperf.json of one run: means of percentiles are not percentiles", s.name)
	case has(first, "num_sessions"):
		return "", fmt.Errorf("%s: found inference-perf's session metrics, expected its lifecycle metrics of requests", s.name)
	}
	return "", fmt.Errorf("%s: found an object with %s, expected one of %s", s.name, keys(first), joined(Formats))
}

func has(object map[string]json.RawMessage, names ...string) bool {
	for _, name := range names {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	return true
}

// keys lists a few names for an error.
func keys(object map[string]json.RawMessage) string {
	var names []string
	for name := range object {
		names = append(names, fmt.Sprintf("%.40q", name))
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return "no key"
	case len(names) > 5:
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// decode reads the whole file as one JSON value.
func (s *source) decode(to any) error { return s.jsonError(json.Unmarshal(s.data, to)) }

// jsonError names file, line and field of an error of encoding/json.
func (s *source) jsonError(err error) error { return jsontext.Fault(s.name, s.data, 0, err) }

// withoutNaN replaces NaN, Infinity and -Infinity, which Python writes and JSON does
// not know, by null. It returns data itself where there is none.
func withoutNaN(data []byte) ([]byte, int) {
	var out []byte
	replaced, copied := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case 'N', 'I', '-':
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(data[i:], []byte(word)) {
					out = append(append(out, data[copied:i]...), "null"...)
					replaced++
					copied = i + len(word)
					i = copied - 1
					break
				}
			}
		}
	}
	if replaced == 0 {
		return data, 0
	}
	return append(out, data[copied:]...), replaced
}
