package record

import "time"

// Sample is one value of one series at one instant.
type Sample struct {
	Experiment string    `parquet:"experiment,dict"`           // which cell, as the next two
	Arm        string    `parquet:"arm,dict"`                  // its name
	Trial      int32     `parquet:"trial,dict"`                // counted from 1
	Source     string    `parquet:"source,dict"`               // the scraped component: vllm-0, gateway, processor
	At         time.Time `parquet:"at,timestamp(microsecond)"` // when it was scraped, or the instant that the server gives
	// Metric is the exposed name; Canonical is one name for the same quantity over
	// all versions of the exporters. They are equal where no mapping exists.
	Metric    string  `parquet:"metric,dict"`
	Canonical string  `parquet:"canonical,dict"` // one name in all versions of the exporters; that of Metric where there is no other
	Value     float64 `parquet:"value"`          // as exposed: counters raw, buckets cumulative
	Type      string  `parquet:"type,dict"`      // counter, gauge, histogram, summary, untyped; derived by an expression

	// The labels that queries ask for, as columns of their own.
	Pod       *string `parquet:"pod,dict"`        // a label, as the next seven
	Instance  *string `parquet:"instance,dict"`   // a label
	Job       *string `parquet:"job,dict"`        // a label
	ModelName *string `parquet:"model_name,dict"` // a label
	Endpoint  *string `parquet:"endpoint,dict"`   // a label
	Priority  *string `parquet:"priority,dict"`   // a label
	LE        *string `parquet:"le,dict"`         // upper bound of a histogram's bucket
	Engine    *string `parquet:"engine,dict"`     // a label

	Labels   string `parquet:"labels,dict"`    // all labels as canonical JSON, keys sorted
	SeriesID int64  `parquet:"series_id,dict"` // hash of source, metric and labels
}
