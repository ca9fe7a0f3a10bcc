package router

import "bgbench/pkg/sim"

// outcome is how a request left flow control.
type outcome string

const (
	notYetFinalized         outcome = "NotYetFinalized"
	dispatched              outcome = "Dispatched"
	rejectedCapacity        outcome = "RejectedCapacity"
	rejectedNoEndpoints     outcome = "RejectedNoEndpoints"
	evictedTTL              outcome = "EvictedTTL"
	evictedContextCancelled outcome = "EvictedContextCancelled"
)

// code is the endpoint picker's name of an error; it decides the HTTP status.
type code string

const (
	badRequest         code = "BadRequest"
	resourceExhausted  code = "ResourceExhausted"
	serviceUnavailable code = "ServiceUnavailable"
)

func (c code) status() int {
	switch c {
	case badRequest:
		return 400
	case resourceExhausted:
		return 429
	}
	return 503
}

// refusal is an answer that the router gives itself.
type refusal struct {
	code    code
	message string
	reason  string // x-llm-d-request-dropped-reason, "" = header absent
}

// The texts are those of llm-d-router v0.10 (request control, flow control).
var (
	refusedSaturated = refusal{resourceExhausted, "system saturated, sheddable request dropped", ""}
	refusedFull      = refusal{resourceExhausted, "request rejected pre-queue: queue at capacity", "rejected-saturated"}
	refusedFullEmpty = refusal{serviceUnavailable, "no endpoints available: request rejected pre-queue: no endpoints available", "rejected-no-endpoints"}
	refusedTTL       = refusal{resourceExhausted, "request timed out in queue: request evicted from queue: request TTL expired", "rejected-ttl-expired"}
	refusedTTLEmpty  = refusal{serviceUnavailable, "request timed out in queue and no endpoints are available: request evicted from queue: request TTL expired", "rejected-no-endpoints"}
	refusedNoPool    = refusal{serviceUnavailable, "failed to find endpoint candidates for serving the request", ""}
)

// refusedProfile is what a request gets whose endpoints were all filtered out.
func refusedProfile(name string) refusal {
	return refusal{resourceExhausted, "failed to find target endpoint: failed to run scheduler profile '" + name + "'", ""}
}

// end is the answer as the client sees it.
func (r refusal) end() sim.End {
	text := "inference error: " + string(r.code) + " - " + r.message
	return sim.End{
		Status:        r.code.status(),
		ErrorType:     string(r.code),
		Message:       text,
		DroppedReason: r.reason,
		Body:          []byte(text),
	}
}

// evictedEnd is the answer to a running request that had to make room, before its
// answer began.
func evictedEnd() sim.End {
	const text = "request evicted by flow control"
	return sim.End{Status: 429, ErrorType: string(resourceExhausted), Message: text, DroppedReason: "evicted", Body: []byte(text)}
}

// cutEnd is what a client sees of an eviction after its stream began: the status
// was sent, so the proxy can only close the connection.
func cutEnd() sim.End {
	return sim.End{Status: sim.StatusNoAnswer, Message: "connection closed before the end of the stream", Cut: true}
}
