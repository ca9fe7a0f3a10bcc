package batchfile

// Limits on an input file (llm-d batch gateway, fileAPI.maxLineCount and
// fileAPI.maxSizeBytes).
const (
	MaxLines = 50_000
	MaxBytes = 200 << 20
)
