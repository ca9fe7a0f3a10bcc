package interop

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
)

// ExportFormat is a form that Export writes.
type ExportFormat string

// Formats of Export. ExportJSON is the Document itself.
const (
	ExportJSON          ExportFormat = "json"
	ExportCSV           ExportFormat = "csv"
	ExportMarkdown      ExportFormat = "markdown"
	ExportBenchstat     ExportFormat = "benchstat"
	ExportInferencePerf ExportFormat = "inference-perf"
	ExportLLMD          ExportFormat = "llm-d"
)

// ExportFormats in the order in which a help text lists them.
var ExportFormats = []ExportFormat{
	ExportJSON, ExportCSV, ExportMarkdown, ExportBenchstat, ExportInferencePerf, ExportLLMD,
}

// ManyFiles says that the format is a folder of files rather than one.
func (f ExportFormat) ManyFiles() bool { return f == ExportInferencePerf || f == ExportLLMD }

// ITL is the inter-token latency that the format has a place for.
func (f ExportFormat) ITL() Definition {
	if f == ExportInferencePerf {
		return ITLPerTokenBurst
	}
	return ITLPerToken
}

// File is one file of an export. Path is empty for a format that has only one.
type File struct {
	Path  string
	Write func(io.Writer) error
}

// Export lays out the files of a document. What a format has no place for is left out,
// and the warnings say what.
func Export(ctx context.Context, d Document, f ExportFormat) ([]File, []string, error) {
	switch f {
	case ExportJSON:
		return []File{{Write: d.WriteJSON}}, nil, nil
	case ExportCSV:
		return []File{{Write: d.writeCSV}}, nil, nil
	case ExportMarkdown:
		return []File{{Write: d.writeMarkdown}}, nil, nil
	}
	valid, warnings := d.valid()
	var files []File
	switch f {
	case ExportBenchstat:
		return []File{{Write: valid.writeBenchstat}}, warnings, nil
	case ExportInferencePerf:
		var lacking []string
		files, lacking = valid.lifecycleFiles(ctx)
		warnings = append(warnings, lacking...)
	case ExportLLMD:
		files = valid.reportFiles()
	default:
		return nil, nil, fmt.Errorf("format: found %q, expected one of %v", f, ExportFormats)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		if seen[file.Path] {
			return nil, nil, fmt.Errorf("%s: two runs would be this file, expected one document at a time", file.Path)
		}
		seen[file.Path] = true
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("%s: no run has what the format needs", f)
	}
	return files, warnings, nil
}

// valid leaves INVALID runs out: benchstat, inference-perf and llm-d's report have no
// word for them. It says so once for each cell.
func (d Document) valid() (Document, []string) {
	var runs []Run
	var warnings []string
	for i, r := range d.Runs {
		if r.Invalid == "" {
			runs = append(runs, r)
			continue
		}
		if warning := r.folder(i) + ": left out, it is INVALID: " + r.Invalid; !slices.Contains(warnings, warning) {
			warnings = append(warnings, warning)
		}
	}
	return NewDocument(runs, d.Warnings), warnings
}

// folder of the files of a run.
func (r Run) folder(i int) string {
	if c := r.Cell; c != nil {
		return path.Join(c.Arm.Name, "t"+strconv.Itoa(c.Trial))
	}
	return "run-" + strconv.Itoa(i)
}
