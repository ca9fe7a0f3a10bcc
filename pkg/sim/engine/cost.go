package engine

import (
	"math"
	"time"
)

// Cost is the time that a step of one model takes on one GPU:
//
//	T = a0 + aL·L + aR·R + max(W/(eW·BW), FLOP/(mfu·Peak)) + KV·context/(eK·BW)
//
// with L layers, R requests in the step, W bytes of weights and KV bytes of cache
// a token. FLOP counts two operations a parameter and token, the logits of one
// token a request, and the attention of tokens that are computed together;
// context is the sum of what single tokens attend to, whose attention is bound by
// reading it. Since every efficiency is below 1 no step is faster than the
// hardware.
//
// The coefficients are of the kind that BLIS fitted to vLLM 0.15.1
// (inference-sim, trained-physics model: 126 us a step, 32 us a layer, 4.4 us a
// request, 1.36·W/BW, 1.95·KV/BW), rounded and held against published runs: 7.7
// ms a token for Qwen3-8B alone on an H100, 13.7k tokens a second of prefill for a
// 72B model on two.
type Cost struct {
	fixed      float64 // a0 + aL·L, seconds
	perRequest float64
	weights    float64 // W/(eW·BW), seconds
	perToken   float64 // 2·P/(mfu·Peak)
	perLogit   float64 // 2·vocab·hidden/(mfu·Peak)
	perPair    float64 // attention of half a (query, key) pair, as Load counts them
	perContext float64 // KV/(eK·BW)
}

const (
	stepOverhead    = 1.2e-3 // a0: scheduling, input preparation, launch, sampling
	layerOverhead   = 30e-6  // aL: kernels between the large ones
	requestOverhead = 8e-6   // aR

	weightEfficiency = 0.85 // eW: achieved share of the bandwidth
	kvEfficiency     = 0.65 // eK
	flopsEfficiency  = 0.55 // mfu: achieved share of the peak in large matrix products
)

// NewCost returns the cost of steps of m on g.
func NewCost(m Model, g GPU) Cost {
	flops := flopsEfficiency * g.PeakFLOPS
	return Cost{
		fixed:      stepOverhead + layerOverhead*float64(m.Layers),
		perRequest: requestOverhead,
		weights:    m.WeightBytes() / (weightEfficiency * g.Bandwidth),
		perToken:   2 * m.layerParams() / flops,
		perLogit:   2 * m.headParams() / flops,
		perPair:    2 * float64(m.Layers*m.Heads*m.HeadDim) / flops,
		perContext: m.KVBytes() / (kvEfficiency * g.Bandwidth),
	}
}

// StepTime is how long a step with this load takes. A step that computes nothing
// takes no time.
func (c *Cost) StepTime(l Load) time.Duration {
	if l.Requests == 0 {
		return 0
	}
	compute := c.perToken*float64(l.Tokens) + c.perLogit*float64(l.Requests) + c.perPair*float64(l.PrefillPairs)
	seconds := c.fixed + c.perRequest*float64(l.Requests) + max(c.weights, compute) + c.perContext*float64(l.Context)
	return time.Duration(math.Ceil(seconds * 1e9))
}
