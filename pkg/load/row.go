package load

import (
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// Identity says to which cell rows belong.
type Identity struct {
	Experiment, Arm string
	Trial           int
	Seed            int64
}

// row builds the row of an attempt, the same for every transport and class.
func row(k *kernel.Kernel, id Identity, router spec.Router, phases phases, req *Request, a Attempt) record.Request {
	out := id.blank()
	if router.Kind == spec.RouterEPP {
		out.Priority = ptr(int32(router.Priority(req.Objective)))
	}
	out.Class = req.Class
	out.Job = text(req.Job)
	out.RequestID = req.ID
	out.CustomID = text(req.CustomID)
	out.PromptIndex = &req.PromptIndex
	out.Attempt = int32(req.Attempt)
	out.Objective = text(req.Objective)

	var began place
	if req.Due.OK {
		began = place{req.Phase, req.Cycle, req.Warmup}
	} else if a.Sent.OK {
		began = phases.at(a.Sent.Time)
	}
	if began.phase != "" {
		out.Phase, out.Cycle, out.Warmup = text(began.phase), ptr(int32(began.cycle)), began.warmup
	}
	if a.Done.OK {
		ended := phases.at(a.Done.Time)
		out.CrossesPhase = ended.phase != began.phase || ended.cycle != began.cycle
	}

	out.DueAt = req.Due.instant(k)
	out.SentAt = a.Sent.instant(k)
	out.HeadersAt = a.Headers.instant(k)
	out.FirstChunkAt = a.FirstChunk.instant(k)
	out.FirstTokenAt = a.FirstToken.instant(k)
	out.LastTokenAt = a.LastToken.instant(k)
	out.DoneAt = a.Done.instant(k)

	out.LatenessS = a.Sent.secondsSince(req.Due)
	out.TTFTS = a.FirstToken.secondsSince(a.Sent)
	out.TTFTFromDueS = a.FirstToken.secondsSince(req.Due)
	out.E2ES = a.Done.secondsSince(a.Sent)
	out.E2EFromDueS = a.Done.secondsSince(req.Due)
	if a.OutputTokens != nil && *a.OutputTokens > 1 {
		if s := a.LastToken.secondsSince(a.FirstToken); s != nil {
			out.TPOTS = ptr(*s / float64(*a.OutputTokens-1))
		}
	}
	out.ChunkGapS, out.ChunkTokens = a.ChunkGaps, a.ChunkTokens

	out.PromptTokens, out.CachedTokens = a.PromptTokens, a.CachedTokens
	out.OutputTokens, out.ReasoningTokens = a.OutputTokens, a.ReasoningTokens
	out.RequestedPromptTokens, out.RequestedOutputTokens = count(req.PromptTokens), count(req.OutputTokens)
	out.TokenSource = text(a.TokenSource)

	out.Status = a.Status
	if a.HTTPStatus != 0 {
		out.HTTPStatus = ptr(int32(a.HTTPStatus))
	}
	out.DroppedReason, out.Error, out.FinishReason = text(a.DroppedReason), text(a.Error), text(a.FinishReason)
	out.Endpoint, out.ConnectionReused = text(a.Endpoint), a.ConnectionReused
	out.BytesSent, out.BytesReceived = a.BytesSent, a.BytesReceived
	out.OutputSHA256 = text(a.OutputSHA256)
	return out
}

func (id Identity) blank() record.Request {
	return record.Request{Experiment: id.Experiment, Arm: id.Arm, Trial: int32(id.Trial), Seed: id.Seed}
}

func ptr[T any](v T) *T { return &v }

// text is s as a nullable column: empty is null.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// count is n as a nullable column: 0 is unknown.
func count(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
