package record

import "time"

// Job is one observation of a batch job. The last row of a job is its end.
type Job struct {
	Experiment string `parquet:"experiment,dict"` // which cell, as the next two
	Arm        string `parquet:"arm,dict"`        // its name
	Trial      int32  `parquet:"trial"`           // counted from 1
	Job        string `parquet:"job,dict"`        // A, B, C
	BatchID    string `parquet:"batch_id,plain"`  // empty until created

	ObservedAt time.Time `parquet:"observed_at,timestamp(microsecond)"` // when the poll was answered
	// Status is the Batch API's: validating, in_progress, finalizing, completed,
	// failed, expired, cancelling, cancelled. The backlog of arm s1 uses in_progress
	// and completed.
	Status    string `parquet:"status,dict"`
	Total     int64  `parquet:"total"`     // lines of the job; 0 until the gateway has read them
	Completed int64  `parquet:"completed"` // lines with a result that is a 200
	Failed    int64  `parquet:"failed"`    // lines with any other result

	// The Batch API gives whole seconds.
	CreatedAt    *time.Time `parquet:"created_at,timestamp(microsecond)"`     // as the API says, as the next four
	InProgressAt *time.Time `parquet:"in_progress_at,timestamp(microsecond)"` // when a worker took it
	FinalizingAt *time.Time `parquet:"finalizing_at,timestamp(microsecond)"`  // when its last line had ended
	CompletedAt  *time.Time `parquet:"completed_at,timestamp(microsecond)"`   // null if it did not complete
	ExpiredAt    *time.Time `parquet:"expired_at,timestamp(microsecond)"`     // null if it did not expire

	CompletionWindowS float64 `parquet:"completion_window_s"` // as the job asked for
}
