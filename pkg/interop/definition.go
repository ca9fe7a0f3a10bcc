package interop

import "strings"

// Definition says exactly what a metric measures: family.variant. Two values may be
// compared only if their definitions are the same.
type Definition string

// Definitions of the metrics of bgbench and of the tools whose files are read, as of
// inference-perf v0.1 to 7de5ef2, guidellm v0.4 to v0.7.3, vLLM's benchmarks/serve.py 009e6d4
// and aiperf schema 1.5.
const (
	TTFTFirstToken   Definition = "ttft.first-token"
	TTFTFirstContent Definition = "ttft.first-content"
	TTFTFirstChunk   Definition = "ttft.first-chunk"
	TTFTFirstEvent   Definition = "ttft.first-event"
	TTFTFromDue      Definition = "ttft-from-due.first-token"
	TTFTAdjusted     Definition = "ttft-error-adjusted.first-token"
	TTFOTContent     Definition = "ttfot.first-content"

	ITLPerToken          Definition = "itl.per-token"
	ITLPerTokenBurst     Definition = "itl.per-token-burst"
	ITLPerChunk          Definition = "itl.per-chunk"
	ITLPerAnyChunk       Definition = "itl.per-any-chunk"
	ITLPerEvent          Definition = "itl.per-event"
	ITLRequestMean       Definition = "itl.request-mean"
	ITLRequestMeanTokens Definition = "itl.request-mean-by-tokens"

	TPOTDecode          Definition = "tpot.decode"
	TPOTAfterFirstChunk Definition = "tpot.after-first-chunk"
	TPOTAfterFirstToken Definition = "tpot.after-first-token"
	TPOTPerEvent        Definition = "tpot.per-event"

	NTPOTToDone            Definition = "ntpot.to-done"
	NTPOTToDoneTokenized   Definition = "ntpot.to-done-and-tokenized"
	NTPOTToLastChunk       Definition = "ntpot.to-last-chunk"
	NTPOTToLastContent     Definition = "ntpot.to-last-content"
	NTPOTToLastTokenTokens Definition = "ntpot.to-last-token-by-tokens"

	E2EToDone          Definition = "e2e.to-done"
	E2EToDoneTokenized Definition = "e2e.to-done-and-tokenized"
	E2EToLastChunk     Definition = "e2e.to-last-chunk"
	E2EToLastContent   Definition = "e2e.to-last-content"
	E2EFromDue         Definition = "e2e-from-due.to-done"
	E2EFromQueue       Definition = "e2e-from-queue.to-last-chunk"
	QueueOfClient      Definition = "client-queue.before-send"

	CachedTokensServer   Definition = "cached-tokens.server"
	PromptTokensServer   Definition = "prompt-tokens.server"
	PromptTokensMixed    Definition = "prompt-tokens.server-or-client"
	PromptTokensClient   Definition = "prompt-tokens.client"
	OutputTokensServer   Definition = "output-tokens.server"
	OutputTokensMixed    Definition = "output-tokens.server-or-client"
	OutputTokensClient   Definition = "output-tokens.client"
	OutputTokensOrChunks Definition = "output-tokens.server-or-chunks"

	LatenessSend       Definition = "lateness.send-minus-due"
	RequestsOverPhase  Definition = "requests-per-s.of-phase"
	RequestsOverRun    Definition = "requests-per-s.over-run"
	RequestsOverSpan   Definition = "requests-per-s.over-span"
	RequestsWeighted   Definition = "requests-per-s.time-weighted"
	InputOverPhase     Definition = "input-tokens-per-s.of-phase"
	InputOverRun       Definition = "input-tokens-per-s.over-run"
	InputOverSpan      Definition = "input-tokens-per-s.over-span"
	InputWeighted      Definition = "input-tokens-per-s.time-weighted"
	OutputOverPhase    Definition = "output-tokens-per-s.of-phase"
	OutputOverRun      Definition = "output-tokens-per-s.over-run"
	OutputOverSpan     Definition = "output-tokens-per-s.over-span"
	OutputWeighted     Definition = "output-tokens-per-s.time-weighted"
	TotalOverPhase     Definition = "total-tokens-per-s.of-phase"
	TotalOverRun       Definition = "total-tokens-per-s.over-run"
	TotalOverSpan      Definition = "total-tokens-per-s.over-span"
	TotalWeighted      Definition = "total-tokens-per-s.time-weighted"
	GoodOverRun        Definition = "goodput-requests-per-s.over-run"
	GoodOverSpan       Definition = "goodput-requests-per-s.over-span"
	ConcurrencyOfTool  Definition = "concurrency.time-weighted"
	BatchRequestsPhase Definition = "batch-requests-per-s.of-phase"
	ErrorRateOfPhase   Definition = "error-rate.of-offered"
)

// meanings of the definitions, as the documents carry them.
var meanings = map[Definition]string{
	TTFTFirstToken:   "send to the first chunk with text, reasoning or a tool call",
	TTFTFirstContent: "send to the first chunk with text, reasoning not counted; none for an answer of one token",
	TTFTFirstChunk:   "send to the first chunk with choices, even the empty one that only names the role",
	TTFTFirstEvent:   "send to the first event of the stream, whatever it holds; none for a stream of one",
	TTFTFromDue:      "due time to the first chunk with text, reasoning or a tool call",
	TTFTAdjusted:     "send to the first chunk with text, reasoning or a tool call; a request that failed counts as infinite",
	TTFOTContent:     "send to the first chunk with text, after any reasoning",

	ITLPerToken:          "every gap between content chunks, divided over the tokens of the chunk that ended it, all requests pooled",
	ITLPerTokenBurst:     "every gap between tokens, where the tokens of a chunk after its first have gaps of 0, all requests pooled",
	ITLPerChunk:          "every gap between content chunks, however many tokens they carry, all requests pooled",
	ITLPerAnyChunk:       "every gap between chunks with choices, even empty ones, so that one may be the prefill, all requests pooled",
	ITLPerEvent:          "every gap between events of the stream, whatever they hold, all requests pooled",
	ITLRequestMean:       "a mean for each request, (e2e − TTFT) / (output tokens − 1): no gap can be seen in it",
	ITLRequestMeanTokens: "a mean for each request, (last token − first token) / (output tokens − 1), weighted by its tokens: no gap can be seen in it",

	TPOTDecode:          "for each request (last token − first token) / (output tokens − 1)",
	TPOTAfterFirstChunk: "for each request (e2e to the last chunk − TTFT of the first chunk) / (output tokens − 1)",
	TPOTPerEvent:        "for each request (last event − first event) / (events − 1), whatever they hold",
	TPOTAfterFirstToken: "for each request (e2e to the last content − TTFT of the first token) / (output tokens − 1)",

	NTPOTToDone:            "for each request e2e / output tokens, so with the time to the first token",
	NTPOTToDoneTokenized:   "for each request e2e / output tokens, so with the time to the first token, and with the client's tokenizing",
	NTPOTToLastChunk:       "for each request e2e to the last chunk with choices / output tokens, so with the time to the first token",
	NTPOTToLastContent:     "for each request e2e to the last content / output tokens, so with the time to the first token",
	NTPOTToLastTokenTokens: "for each request (last token − send) / output tokens, so with the time to the first token, weighted by its tokens",

	E2EToDone:          "send to the end of the answer",
	E2EToDoneTokenized: "send to the end of the answer and of the client's tokenizing",
	E2EToLastChunk:     "send to the last chunk with choices",
	E2EToLastContent:   "send to the last chunk with text or reasoning",
	E2EFromQueue:       "from when the client would have sent it but for its bound on concurrency, to the last chunk with choices",
	QueueOfClient:      "wait for the client's bound on concurrency",
	E2EFromDue:         "due time to the end of the answer",

	CachedTokensServer:   "prompt tokens that the server found in its cache, as it counted",
	PromptTokensServer:   "as the server counted",
	PromptTokensMixed:    "as the server counted, else the client's tokenizer",
	PromptTokensClient:   "the client's tokenizer, or the server if it was told to",
	OutputTokensServer:   "as the server counted",
	OutputTokensMixed:    "as the server counted, else the client's tokenizer",
	OutputTokensClient:   "the client's tokenizer, or the server if it was told to",
	OutputTokensOrChunks: "as the server counted, else a token a chunk",

	LatenessSend:       "send − due time",
	RequestsOverPhase:  "requests due in the phase that ended ok / measured length of the phase",
	RequestsOverRun:    "requests that ended ok / wall time of the run with its drain",
	RequestsOverSpan:   "requests that ended ok / (last end − first send)",
	RequestsWeighted:   "rate over time, weighted by how long it held, in the measured window",
	InputOverPhase:     "prompt tokens of requests due in the phase that ended ok / measured length of the phase",
	InputOverRun:       "prompt tokens of requests that ended ok / wall time of the run with its drain",
	InputOverSpan:      "prompt tokens of requests that ended ok / (last end − first send)",
	InputWeighted:      "rate over time, weighted by how long it held, in the measured window",
	OutputOverPhase:    "output tokens of requests due in the phase that ended ok / measured length of the phase",
	OutputOverRun:      "output tokens of requests that ended ok / wall time of the run with its drain",
	OutputOverSpan:     "output tokens of requests that ended ok / (last end − first send)",
	OutputWeighted:     "rate over time, weighted by how long it held, in the measured window; tokens between the first and the last are spread evenly",
	TotalOverPhase:     "prompt and output tokens of requests due in the phase that ended ok / measured length of the phase",
	TotalOverRun:       "prompt and output tokens of requests that ended ok / wall time of the run with its drain",
	TotalOverSpan:      "prompt and output tokens of requests that ended ok / (last end − first send)",
	TotalWeighted:      "rate over time, weighted by how long it held, in the measured window",
	GoodOverRun:        "requests that ended ok and held the tool's own limits / wall time of the run with its drain",
	GoodOverSpan:       "requests that ended ok and held the tool's own limits / (last end − first send)",
	ConcurrencyOfTool:  "requests in flight, weighted by how long there were as many",
	BatchRequestsPhase: "lines that the jobs completed in the phase / measured length of the phase",
	ErrorRateOfPhase:   "requests that did not end ok / requests offered",
}

// Family is what comes before the dot, the name of the metric.
func (d Definition) Family() string {
	family, _, _ := strings.Cut(string(d), ".")
	return family
}

// Meaning in words. A metric that only the tool knows is defined by the tool.
func (d Definition) Meaning() string {
	if meaning, ok := meanings[d]; ok {
		return meaning
	}
	return "as the tool defines it"
}

// ownDefinition tags a metric that no other tool has: it is comparable with files of
// the same tool alone.
func ownDefinition(tool, called string) Definition {
	return Definition(strings.ReplaceAll(called, "_", "-") + ".as-" + tool)
}
