package interop

import "testing"

// FuzzConvertInferencePerf: whatever is read becomes a profile that holds, or an error.
func FuzzConvertInferencePerf(f *testing.F) {
	for _, seed := range []string{
		"data: {type: shared_prefix, shared_prefix: {num_groups: 3, question_len: {type: uniform, min: 3, max: 9}}}\nload: {stages: [{rate: 2, duration: 3}]}",
		"data: {type: random, input_distribution: {variance: -1, min: 0}}\nload: {type: concurrent, stages: [{num_requests: 5, concurrency_level: 9}]}",
		"data: {type: conversation_replay, conversation_replay: {turns_per_conversation: {type: poisson, mean: 3}}}\nload: {type: poisson, interval: .5, stages: [{rate: 1e300, duration: 1e300}]}",
		"workload: {a: {}, b: {}}", "[]", "x: &x [*x]", "data: 3",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, left, err := ConvertInferencePerf([]byte(text), "f")
		if err != nil {
			return
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		for _, u := range left {
			if u.Key == "" || u.Text == "" {
				t.Errorf("%q: found %+v", text, u)
			}
		}
	})
}
