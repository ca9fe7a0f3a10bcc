package deploy

import (
	"strings"

	"github.com/google/uuid"

	"bgbench/pkg/spec"
)

// DescribeEndpoint describes an OpenAI endpoint of which nothing is known but where it is, for a
// profile of its model. Of the arm it says nothing either: what is behind the address is
// not for us to claim.
func DescribeEndpoint(arm, inferenceURL, batchURL string, p spec.Profile) Stack {
	dispatch, at := spec.DispatchNone, []string{}
	if inferenceURL != "" {
		at = append(at, inferenceURL)
	}
	if batchURL != "" {
		dispatch = spec.DispatchSync
		at = append(at, "Batch API "+batchURL)
	}
	return Stack{
		SchemaVersion: stackSchemaVersion,
		RunID:         uuid.NewString(),
		Target:        spec.TargetEndpoint,
		Arm: spec.Arm{
			Name: arm, Description: p.Model + " at " + strings.Join(at, ", "), Dispatch: dispatch, Promises: []string{},
		},
		Model: p.Model, MaxModelLen: p.MaxModelLen,
		InferenceURL: inferenceURL, BatchURL: batchURL,
	}
}
