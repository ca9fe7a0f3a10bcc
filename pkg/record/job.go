package record

import "time"

// Job is one observation of a batch job. The last row of a job is its end.
type Job struct {
	Experiment string `parquet:"experiment,dict"`
	Arm        string `parquet:"arm,dict"`
	Trial      int32  `parquet:"trial"`
	Job        string `parquet:"job,dict"`       // A, B, C
	BatchID    string `parquet:"batch_id,plain"` // empty until created

	ObservedAt time.Time `parquet:"observed_at,timestamp(microsecond)"`
	// Status is the Batch API's: validating, in_progress, finalizing, completed,
	// failed, expired, cancelling, cancelled. The backlog of arm s1 uses in_progress
	// and completed.
	Status    string `parquet:"status,dict"`
	Total     int64  `parquet:"total"`
	Completed int64  `parquet:"completed"`
	Failed    int64  `parquet:"failed"`

	// The Batch API gives whole seconds.
	CreatedAt    *time.Time `parquet:"created_at,timestamp(microsecond)"`
	InProgressAt *time.Time `parquet:"in_progress_at,timestamp(microsecond)"`
	FinalizingAt *time.Time `parquet:"finalizing_at,timestamp(microsecond)"`
	CompletedAt  *time.Time `parquet:"completed_at,timestamp(microsecond)"`
	ExpiredAt    *time.Time `parquet:"expired_at,timestamp(microsecond)"`

	CompletionWindowS float64 `parquet:"completion_window_s"`
}
