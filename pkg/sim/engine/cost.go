package engine

import (
	"math"
	"time"
)

// Cost is the time that a step of one model takes on the GPUs of one replica:
//
//	T = a0 + aL·L + aR·R + max(W/(eW·BW), FLOP/(mfu·Peak)) + KV·context/(eK·BW) + link
//
// with L layers, R requests in the step, and of what one GPU holds W bytes of
// weights and KV bytes of cache a token. FLOP counts two operations a parameter and
// token, the logits of one token a request, and the attention of tokens that are
// computed together; context is what the requests attend to, read once each. Since
// every efficiency is below 1 no step is faster than the hardware.
//
// link is 0 on one GPU. On n, every layer sums the results of attention and of MLP
// over all GPUs, one after the other with the matrix products:
//
//	link = 2·L·(base + 2(n−1)·hop + 2(n−1)/n·2·hidden·tokens/NVLink)
//
// the time of a ring all-reduce of hidden bfloat16 values a token.
//
// The form is that of BLIS's fit to vLLM 0.15.1 (inference-sim, trained-physics
// model: 126 us a step, 32 us a layer, 4.4 us a request, 1.36·W/BW, 1.95·KV/BW). The
// values were chosen by hand beside it; docs/model.md compares them, and the result
// with published runs.
type Cost struct {
	fixed      float64 // a0 + aL·L + the latency of link, seconds
	perRequest float64
	weights    float64 // W/(eW·BW), seconds
	perToken   float64 // 2·P/(mfu·Peak)
	perLogit   float64 // 2·vocab·hidden/(mfu·Peak)
	perPair    float64 // attention of half a (query, key) pair, as Load counts them
	perContext float64 // KV/(eK·BW)
	perSent    float64 // link, a token
}

const (
	stepOverhead    = 1.2e-3 // a0: scheduling, input preparation, launch, sampling
	layerOverhead   = 30e-6  // aL: kernels between the large ones
	requestOverhead = 8e-6   // aR

	weightEfficiency = 0.85 // eW: achieved share of the bandwidth
	kvEfficiency     = 0.65 // eK
	flopsEfficiency  = 0.55 // mfu: achieved share of the peak in large matrix products

	// What NCCL's own tuning model expects of a small all-reduce over NVLink (ring
	// algorithm, LL protocol: baseLat and hwLat in src/graph/tuning.cc). vLLM's custom
	// all-reduce, which takes small messages, is there to be no slower.
	reduceBase = 6.6e-6
	reduceHop  = 0.6e-6
)

// NewCost returns the cost of steps on tp GPUs g of one server, each of which holds
// shard (Model.Shard; with one GPU the model itself).
func NewCost(shard Model, g GPU, tp int) Cost {
	flops := flopsEfficiency * g.PeakFLOPS
	c := Cost{
		fixed:      stepOverhead + layerOverhead*float64(shard.Layers),
		perRequest: requestOverhead,
		weights:    shard.WeightBytes() / (weightEfficiency * g.Bandwidth),
		perToken:   2 * shard.layerParams() / flops,
		perLogit:   2 * shard.headParams() / flops,
		perPair:    2 * float64(shard.Layers*shard.Heads*shard.HeadDim) / flops,
		perContext: shard.KVBytes() / (kvEfficiency * g.Bandwidth),
	}
	if tp > 1 {
		reduces, hops := float64(2*shard.Layers), float64(2*(tp-1))
		c.fixed += reduces * (reduceBase + hops*reduceHop)
		c.perSent = reduces * hops / float64(tp) * bytesPerValue * float64(shard.Hidden) / g.NVLink
	}
	return c
}

// StepTime is how long a step with this load takes. A step that computes nothing
// takes no time.
func (c *Cost) StepTime(l Load) time.Duration {
	if l.Requests == 0 {
		return 0
	}
	compute := c.perToken*float64(l.Tokens) + c.perLogit*float64(l.Requests) + c.perPair*float64(l.PrefillPairs)
	seconds := c.fixed + c.perRequest*float64(l.Requests) + max(c.weights, compute) +
		c.perContext*float64(l.Context) + c.perSent*float64(l.Tokens)
	return time.Duration(math.Ceil(seconds * 1e9))
}
