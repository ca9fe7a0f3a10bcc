package gateway

import (
	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
)

// Gateway is one apiserver and one processor with their database.
type Gateway struct {
	k       *kernel.Kernel
	cfg     Config
	backend sim.Backend
	newID   func(prefix string) string

	tokenizer sim.Tokenizer // of the inference server
	copied    sim.Tokenizer // the same for texts that are no parts of a file, which nobody meets again

	files   map[string]*file
	batches map[string]*batch
	queue   jobQueue
	sent    int // requests that were sent

	apiserver     *metric.Registry
	processor     *processor
	processorPage *metric.Registry
	orphans       []orphan
}

// New returns a gateway whose processor polls from the kernel's present on and
// sends to backend.
func New(k *kernel.Kernel, cfg Config, backend sim.Backend) *Gateway {
	cfg.fillDefaults()
	g := &Gateway{
		k:         k,
		cfg:       cfg,
		backend:   backend,
		newID:     cfg.NewID,
		files:     map[string]*file{},
		batches:   map[string]*batch{},
		apiserver: &metric.Registry{},

		processorPage: &metric.Registry{},
	}
	if g.newID == nil {
		ids := stream(cfg.Seed, "gateway ids")
		g.newID = func(prefix string) string { return prefix + uuid(ids) }
	}
	g.processor = newProcessor(g)
	g.scheduleRestarts()
	return g
}

// Keep has what the lines of jobs become kept in p, for another gateway that gets the
// same content; nil for none.
func (g *Gateway) Keep(p *sim.Prompts) { g.tokenizer.Prompts = p }

// TenantHeader is the name of the request header that names the tenant.
func (g *Gateway) TenantHeader() string { return g.cfg.TenantHeader }

// Processor returns the metrics of the processor. The page is empty while its process
// is down.
func (g *Gateway) Processor() *metric.Registry { return g.processorPage }

// APIServer returns the metrics of the apiserver.
func (g *Gateway) APIServer() *metric.Registry { return g.apiserver }

// FailureReason says why a job failed, in the words of the processor's log: the
// API never tells. It is empty for a job that did not fail.
func (g *Gateway) FailureReason(batchID string) string {
	if b, ok := g.batches[batchID]; ok {
		return b.reason
	}
	return ""
}

// Peek returns a batch object whoever owns it, the zero Batch when there is none.
func (g *Gateway) Peek(batchID string) openai.Batch {
	if b, ok := g.batches[batchID]; ok {
		return b.object()
	}
	return openai.Batch{}
}

// PeekFile returns the content of a file whoever owns it, nothing when there is none.
func (g *Gateway) PeekFile(fileID string) string {
	if f, ok := g.files[fileID]; ok {
		return f.content
	}
	return ""
}

// unix is the present in whole seconds, as all the API's instants are.
func (g *Gateway) unix() int64 { return g.k.Instant(g.k.Now()).Unix() }

func (g *Gateway) unixPtr() *int64 {
	now := g.unix()
	return &now
}
