package scrape

import (
	"strconv"

	"bgbench/pkg/record"
)

// The columns of a row that are no labels of its series travel as these in OpenMetrics.
// vLLM itself has a label source, so they have a prefix.
const (
	labelExperiment = "bg_experiment"
	labelArm        = "bg_arm"
	labelTrial      = "bg_trial"
	labelSource     = "bg_source"
)

// takeIdentity moves the labels that stand for columns into row and returns the others.
func takeIdentity(row *record.Sample, labels []label) []label {
	kept := labels[:0]
	for _, l := range labels {
		switch l.name {
		case labelExperiment:
			row.Experiment = l.value
		case labelArm:
			row.Arm = l.value
		case labelSource:
			row.Source = l.value
		case labelTrial:
			if trial, err := strconv.ParseInt(l.value, 10, 32); err == nil {
				row.Trial = int32(trial)
				continue
			}
			kept = append(kept, l)
		default:
			kept = append(kept, l)
		}
	}
	return kept
}

// identityLabels are the labels that takeIdentity takes.
func identityLabels(row *record.Sample) []label {
	return []label{
		{labelExperiment, row.Experiment}, {labelArm, row.Arm}, {labelTrial, strconv.Itoa(int(row.Trial))}, {labelSource, row.Source},
	}
}
