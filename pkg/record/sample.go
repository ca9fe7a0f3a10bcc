package record

import "time"

// Sample is one value of one series at one instant.
type Sample struct {
	Experiment string    `parquet:"experiment,dict"`
	Arm        string    `parquet:"arm,dict"`
	Trial      int32     `parquet:"trial,dict"`
	Source     string    `parquet:"source,dict"` // the scraped component: vllm-0, gateway, processor
	At         time.Time `parquet:"at,timestamp(microsecond)"`
	// Metric is the exposed name; Canonical is one name for the same quantity over
	// all versions of the exporters. They are equal where no mapping exists.
	Metric    string  `parquet:"metric,dict"`
	Canonical string  `parquet:"canonical,dict"`
	Value     float64 `parquet:"value"`
	Type      string  `parquet:"type,dict"` // counter, gauge, histogram, summary, untyped; derived by an expression

	// The labels that queries ask for, as columns of their own.
	Pod       *string `parquet:"pod,dict"`
	Instance  *string `parquet:"instance,dict"`
	Job       *string `parquet:"job,dict"`
	ModelName *string `parquet:"model_name,dict"`
	Endpoint  *string `parquet:"endpoint,dict"`
	Priority  *string `parquet:"priority,dict"`
	LE        *string `parquet:"le,dict"`
	Engine    *string `parquet:"engine,dict"`

	Labels   string `parquet:"labels,dict"`    // all labels as canonical JSON, keys sorted
	SeriesID int64  `parquet:"series_id,dict"` // hash of source, metric and labels
}
