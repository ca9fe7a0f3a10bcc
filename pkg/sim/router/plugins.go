package router

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// role is what a plugin can be used for.
type role uint16

const (
	roleFilter role = 1 << iota
	roleScorer
	rolePicker
	roleHandler
	roleDetector
	roleOrdering
	roleFairness
	roleLimit
	roleParser
	roleSource
	roleDiscovery
)

// pluginType is a type that the endpoint picker registers. Types of which the
// model has no rule carry how they would act: a foreign one acts where a profile or
// a band names it, an active one wherever it is listed.
type pluginType struct {
	roles  role
	alpha  bool
	model  modelling
	params func(*value) (any, error) // nil: parameters are ignored
}

type modelling uint8

const (
	modelled modelling = iota // or without effect on anything that the model knows
	foreign
	active
)

// pluginTypes are those of llm-d-router v0.10.0 (cmd/epp/runner).
var pluginTypes = map[string]pluginType{
	concurrencyDetectorType: {roles: roleDetector | roleFilter, params: concurrencyParams},
	utilizationDetectorType: {roles: roleDetector | roleFilter, params: utilizationParams},

	inflightProducerType:           {params: producerParams},
	tokenProducerType:              {params: tokenParams},
	"tokenizer":                    {params: tokenParams},
	"approx-prefix-cache-producer": {model: active},
	"precise-prefix-cache-producer": {
		model: active,
	},
	"multicluster-approx-prefix-cache-producer": {alpha: true, model: active},
	"predicted-latency-producer":                {model: active},
	"mm-embeddings-cache-producer":              {},
	"session-id-producer":                       {},
	"burst-prefix-cache-producer":               {alpha: true, model: active},
	"p2p-source-producer":                       {alpha: true, model: active},

	globalStrictType:         {roles: roleFairness},
	roundRobinType:           {roles: roleFairness},
	"program-aware-fairness": {roles: roleFairness, model: foreign},
	fcfsType:                 {roles: roleOrdering},
	edfType:                  {roles: roleOrdering},
	sloDeadlineType:          {roles: roleOrdering},
	staticLimitType:          {roles: roleLimit, params: staticParams},
	holdbackType:             {roles: roleLimit, alpha: true, params: holdbackParams},
	softCeilingType:          {roles: roleLimit, alpha: true, params: softParams},
	// Eviction wires these two itself, listed or not.
	"sheddable-eviction-filter":                {alpha: true},
	"priority-then-time-eviction-order-policy": {alpha: true},

	maxScoreType:             {roles: rolePicker, params: pickerParams},
	randomPickerType:         {roles: rolePicker, params: pickerParams},
	weightedRandomType:       {roles: rolePicker, params: pickerParams},
	singleProfileHandlerType: {roles: roleHandler},

	queueScorerType:         {roles: roleScorer},
	kvScorerType:            {roles: roleScorer},
	runningScorerType:       {roles: roleScorer},
	loadAwareScorerType:     {roles: roleScorer, params: loadAwareParams},
	activeRequestScorerType: {roles: roleScorer, params: activeRequestParams},
	tokenLoadScorerType:     {roles: roleScorer, params: tokenLoadParams},

	"prefix-cache-scorer":                      {roles: roleScorer, model: foreign},
	"precise-prefix-cache-scorer":              {roles: roleScorer, model: foreign},
	"multicluster-prefix-cache-scorer":         {roles: roleScorer, alpha: true, model: foreign},
	"multicluster-queue-scorer":                {roles: roleScorer, alpha: true, model: foreign},
	"multicluster-kv-cache-utilization-scorer": {roles: roleScorer, alpha: true, model: foreign},
	"mm-embeddings-cache-scorer":               {roles: roleScorer, model: foreign},
	"lora-affinity-scorer":                     {roles: roleScorer, model: foreign},
	"no-hit-lru-scorer":                        {roles: roleScorer, model: foreign},
	"context-length-aware":                     {roles: roleScorer | roleFilter, model: foreign},
	"session-affinity-scorer":                  {roles: roleScorer, alpha: true, model: foreign},
	"header-label-affinity-scorer":             {roles: roleScorer, alpha: true, model: foreign},
	"endpoint-attribute-scorer":                {roles: roleScorer, alpha: true, model: foreign},
	"topology-affinity-scorer":                 {roles: roleScorer, alpha: true, model: foreign},
	"latency-scorer":                           {roles: roleScorer, model: foreign},
	"label-selector-filter":                    {roles: roleFilter, model: foreign},
	"by-label-selector":                        {roles: roleFilter, model: foreign},
	"by-label":                                 {roles: roleFilter, model: foreign},
	"encode-filter":                            {roles: roleFilter, model: foreign},
	"decode-filter":                            {roles: roleFilter, model: foreign},
	"prefill-filter":                           {roles: roleFilter, model: foreign},
	"session-affinity-filter":                  {roles: roleFilter, alpha: true, model: foreign},
	"multicluster-session-affinity-filter":     {roles: roleFilter, alpha: true, model: foreign},
	"endpoint-attribute-filter":                {roles: roleFilter, alpha: true, model: foreign},
	"topology-affinity-filter":                 {roles: roleFilter, alpha: true, model: foreign},
	"utilization-filter":                       {roles: roleFilter, alpha: true, model: foreign},
	"prefix-cache-affinity-filter":             {roles: roleFilter, model: foreign},
	"slo-headroom-tier-filter":                 {roles: roleFilter, model: foreign},
	"header-based-testing-filter":              {roles: roleFilter, model: foreign},

	"data-parallel-profile-handler":     {roles: roleHandler, model: active},
	"disagg-headers-handler":            {model: active},
	"prefill-header-handler":            {model: active},
	"pd-profile-handler":                {roles: roleHandler, model: active},
	"disagg-profile-handler":            {roles: roleHandler, model: active},
	"header-profile-handler":            {roles: roleHandler, alpha: true, model: active},
	"always-disagg-pd-decider":          {model: active},
	"prefix-based-pd-decider":           {model: active},
	"always-disagg-multimodal-decider":  {model: active},
	"disaggregatedset-rollout-screener": {alpha: true, model: active},
	"latency-slo-admitter":              {model: active},
	"probabilistic-admitter":            {model: active},
	"agent-identity":                    {alpha: true, model: active},

	metricsSourceType:                  {roles: roleSource},
	metricsExtractorType:               {},
	"multicluster-metrics-data-source": {roles: roleSource, alpha: true},
	"multicluster-metrics-extractor":   {alpha: true},
	"models-data-source":               {roles: roleSource},
	"models-data-extractor":            {},
	"topology-extractor":               {alpha: true},
	"dcgm-data-source":                 {roles: roleSource, alpha: true},
	"dcgm-extractor":                   {alpha: true},
	"k8s-notification-source":          {roles: roleSource},
	"endpoint-notification-source":     {roles: roleSource},
	"file-discovery":                   {roles: roleDiscovery},
	"multicluster-file-discovery":      {roles: roleDiscovery, alpha: true},

	"request-attribute-reporter":           {},
	"destination-endpoint-served-verifier": {},
	"openai-parser":                        {roles: roleParser},
	"anthropic-parser":                     {roles: roleParser},
	"vllmhttp-parser":                      {roles: roleParser},
	"vllmgrpc-parser":                      {roles: roleParser},
	"passthrough-parser":                   {roles: roleParser},
	"vertexai-parser":                      {roles: roleParser},
}

const (
	metricsSourceType        = "metrics-data-source"
	metricsExtractorType     = "core-metrics-extractor"
	singleProfileHandlerType = "single-profile-handler"
	inflightProducerType     = "inflight-load-producer"
	tokenProducerType        = "token-producer"
)

// plugin is an instance: a listed plugin, or one that is always there.
type plugin struct {
	name, typeName string
	pluginType
	settings any // what params returned
}

func (p *plugin) is(r role) bool { return p.roles&r != 0 }

// paramsError says which plugin's parameters are wrong, and in which line.
type paramsError struct {
	line   int
	err    error
	advice string
}

func (e paramsError) Error() string { return e.err.Error() }

// strictParams decodes parameters; what begins the text of a decoding error.
func strictParams(v *value, what string, target any) error {
	if v == nil || v.isNull() {
		return nil
	}
	line, err := decodeStrict(v, target)
	if err == nil {
		return nil
	}
	advice := "give the parameter a value of that type"
	var unknown unknownFields
	if errors.As(err, &unknown) {
		// encoding/json names the first only.
		err = fmt.Errorf("json: unknown field %q", unknown.paths[0])
		advice = "the plugin takes no parameters"
		if len(unknown.known) > 0 {
			advice = "remove or correct the parameter; known: " + strings.Join(unknown.known, ", ")
		}
	}
	return paramsError{line, fmt.Errorf("%s: %w", what, err), advice}
}

// invalid joins what is wrong with the parameters of one plugin.
func invalid(v *value, what string, problems ...string) error {
	if len(problems) == 0 {
		return nil
	}
	line := 0
	if v != nil {
		line = v.line
	}
	return paramsError{line, fmt.Errorf("%s: %s", what, strings.Join(problems, "\n")), "correct the parameter"}
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func concurrencyParams(v *value) (any, error) {
	var p struct {
		MaxConcurrency           *int64   `json:"maxConcurrency"`
		Headroom                 *float64 `json:"headroom"`
		ConcurrencyMode          *string  `json:"concurrencyMode"`
		MaxTokenConcurrency      *int64   `json:"maxTokenConcurrency"`
		InFlightLoadProducerName string   `json:"inFlightLoadProducerName"`
	}
	if err := strictParams(v, "failed to unmarshal concurrency detector config", &p); err != nil {
		return nil, err
	}
	d := concurrencyDetector{
		mode:         or(p.ConcurrencyMode, modeRequests),
		maxRequests:  or(p.MaxConcurrency, 100),
		maxTokens:    or(p.MaxTokenConcurrency, 1_000_000),
		headroom:     or(p.Headroom, 0),
		producerName: p.InFlightLoadProducerName,
	}
	var problems []string
	if d.maxRequests <= 0 {
		problems = append(problems, fmt.Sprintf("maxConcurrency must be strictly positive, got %d", d.maxRequests))
	}
	if d.headroom < 0 {
		problems = append(problems, fmt.Sprintf("headroom must be a non-negative value, got %f", d.headroom))
	}
	if d.maxTokens <= 0 {
		problems = append(problems, fmt.Sprintf("maxTokenConcurrency must be strictly positive, got %d", d.maxTokens))
	}
	if d.mode != modeRequests && d.mode != modeTokens && d.mode != modeHybrid {
		problems = append(problems, fmt.Sprintf("unsupported concurrencyMode: %q", d.mode))
	}
	return d, invalid(v, "invalid concurrency detector configuration", problems...)
}

func utilizationParams(v *value) (any, error) {
	var p struct {
		QueueDepthThreshold       *int      `json:"queueDepthThreshold"`
		KVCacheUtilThreshold      *float64  `json:"kvCacheUtilThreshold"`
		MetricsStalenessThreshold *duration `json:"metricsStalenessThreshold"`
		Headroom                  *float64  `json:"headroom"`
	}
	if err := strictParams(v, "failed to unmarshal utilization detector config", &p); err != nil {
		return nil, err
	}
	d := utilizationDetector{
		queueDepth: or(p.QueueDepthThreshold, 5),
		kvUsage:    or(p.KVCacheUtilThreshold, 0.8),
		staleAfter: or(p.MetricsStalenessThreshold, duration{defaultStaleness}).d,
		headroom:   or(p.Headroom, 0),
	}
	var problems []string
	if d.queueDepth <= 0 {
		problems = append(problems, fmt.Sprintf("queueDepthThreshold must be strictly positive, got %d", d.queueDepth))
	}
	if d.kvUsage <= 0 || d.kvUsage > 1 {
		problems = append(problems, fmt.Sprintf("kvCacheUtilThreshold must be in (0.0, 1.0], got %f", d.kvUsage))
	}
	if d.staleAfter <= 0 {
		problems = append(problems, fmt.Sprintf("metricsStalenessThreshold must be strictly positive, got %v", d.staleAfter))
	}
	if d.headroom < 0 {
		problems = append(problems, fmt.Sprintf("headroom must be a non-negative value, got %f", d.headroom))
	}
	return d, invalid(v, "invalid utilization detector configuration", problems...)
}

func producerParams(v *value) (any, error) {
	var p struct {
		AddEstimatedOutputTokens    bool     `json:"addEstimatedOutputTokens"`
		OutputRatio                 *float64 `json:"outputRatio"`
		MaxEstimatedOutputTokens    *int64   `json:"maxEstimatedOutputTokens"`
		PrefixMatchInfoProducerName string   `json:"prefixMatchInfoProducerName"`
		SyncCrossReplicaState       *bool    `json:"syncCrossReplicaState"`
	}
	if err := strictParams(v, "failed to decode inflight-load-producer parameters", &p); err != nil {
		return nil, err
	}
	e := tokenEstimate{
		addOutput: p.AddEstimatedOutputTokens,
		ratio:     or(p.OutputRatio, 1.5),
		maxOutput: or(p.MaxEstimatedOutputTokens, math.MaxInt64),
	}
	if e.ratio < 0 {
		return nil, paramsError{v.lineAt("outputRatio"), fmt.Errorf("outputRatio must be non-negative, got %v", e.ratio), "give a ratio of 0 or more"}
	}
	if e.maxOutput < 0 {
		return nil, paramsError{v.lineAt("maxEstimatedOutputTokens"), fmt.Errorf("maxEstimatedOutputTokens must be non-negative, got %v", e.maxOutput), "give 0 or more"}
	}
	return e, nil
}

// tokenParams tells whether prompts are counted by the model's own tokenizer; the
// default packs four bytes into a token.
func tokenParams(v *value) (any, error) {
	var p struct {
		UDSTokenizerConfig *value `json:"udsTokenizerConfig"`
		VLLM               *value `json:"vllm"`
		Estimate           *value `json:"estimate"`
		ModelName          string `json:"modelName"`
	}
	if err := strictParams(v, "failed to parse the parameters of the 'token-producer' plugin", &p); err != nil {
		return nil, err
	}
	exact := p.VLLM != nil || p.ModelName != "" || p.UDSTokenizerConfig != nil
	const what = "invalid configuration for 'token-producer' plugin"
	switch {
	case p.Estimate != nil && exact, p.UDSTokenizerConfig != nil && p.VLLM != nil:
		return nil, invalid(v, what, "only one of 'estimate', 'vllm', or 'udsTokenizerConfig' may be set")
	case exact && p.ModelName == "":
		return nil, invalid(v, what, "'modelName' must be specified")
	}
	return exact, nil
}

func staticParams(v *value) (any, error) {
	var p struct {
		Threshold *float64 `json:"threshold"`
	}
	if err := strictParams(v, "failed to parse static usage limit policy config", &p); err != nil {
		return nil, err
	}
	return staticLimit(or(p.Threshold, 1)), nil
}

func holdbackParams(v *value) (any, error) {
	var p struct {
		Shape      *string  `json:"shape"`
		Domain     *string  `json:"domain"`
		MinCeiling *float64 `json:"minCeiling"`
		MaxCeiling *float64 `json:"maxCeiling"`
	}
	const what = "invalid priority holdback policy configuration"
	if err := strictParams(v, "failed to unmarshal priority holdback policy config", &p); err != nil {
		return nil, err
	}
	if p.MinCeiling == nil {
		return nil, invalid(v, what, "minCeiling is required")
	}
	h := holdback{byValue: or(p.Domain, domainRank) == domainValue, low: *p.MinCeiling, high: or(p.MaxCeiling, 1)}
	var problems []string
	if shape := or(p.Shape, "linear"); shape != "linear" {
		problems = append(problems, fmt.Sprintf("unsupported shape %q, must be %q", shape, "linear"))
	}
	if domain := or(p.Domain, domainRank); domain != domainRank && domain != domainValue {
		problems = append(problems, fmt.Sprintf("unsupported domain %q, must be one of: %q, %q", domain, domainRank, domainValue))
	}
	if h.low < 0 || h.low >= 1 {
		problems = append(problems, fmt.Sprintf("minCeiling must be in [0.0, 1.0), got %f", h.low))
	}
	if h.high <= 0 || h.high > 1 {
		problems = append(problems, fmt.Sprintf("maxCeiling must be in (0.0, 1.0], got %f", h.high))
	}
	if h.low >= h.high {
		problems = append(problems, fmt.Sprintf("minCeiling (%f) must be strictly less than maxCeiling (%f)", h.low, h.high))
	}
	return h, invalid(v, what, problems...)
}

func softParams(v *value) (any, error) {
	return softCeiling{}, strictParams(v, "soft-reflective-ceiling-policy takes no parameters", &struct{}{})
}

func pickerParams(v *value) (any, error) {
	var p struct {
		MaxNumOfEndpoints int `json:"maxNumOfEndpoints"`
	}
	// More endpoints than one are fallbacks for the proxy; the first is the pick.
	return nil, strictParams(v, "failed to parse the parameters of the picker", &p)
}

func loadAwareParams(v *value) (any, error) {
	p := struct {
		Threshold int `json:"threshold"`
	}{128}
	if err := strictParams(v, "failed to parse the parameters of the 'load-aware-scorer' scorer", &p); err != nil {
		return nil, err
	}
	if p.Threshold <= 0 {
		p.Threshold = 128
	}
	return loadAwareScorer(p.Threshold), nil
}

func activeRequestParams(v *value) (any, error) {
	var p struct {
		RequestTimeout           string   `json:"requestTimeout"`
		IdleThreshold            int      `json:"idleThreshold"`
		MaxBusyScore             *float64 `json:"maxBusyScore"`
		InFlightLoadProducerName string   `json:"inFlightLoadProducerName"`
	}
	if err := strictParams(v, "failed to parse the parameters of the 'active-request-scorer' scorer", &p); err != nil {
		return nil, err
	}
	s := activeRequestScorer{idle: int64(max(0, p.IdleThreshold)), maxBusy: or(p.MaxBusyScore, 1), producerName: p.InFlightLoadProducerName}
	if s.maxBusy < 0 || s.maxBusy > 1 {
		s.maxBusy = 1
	}
	return s, nil
}

func tokenLoadParams(v *value) (any, error) {
	p := struct {
		QueueThresholdTokens     int64  `json:"queueThresholdTokens"`
		InFlightLoadProducerName string `json:"inFlightLoadProducerName"`
	}{QueueThresholdTokens: defaultTokenLoad}
	if err := strictParams(v, "failed to unmarshal token load scorer config", &p); err != nil {
		return nil, err
	}
	if p.QueueThresholdTokens <= 0 {
		p.QueueThresholdTokens = defaultTokenLoad
	}
	return tokenLoadScorer{threshold: float64(p.QueueThresholdTokens), producerName: p.InFlightLoadProducerName}, nil
}

// defaultTokenLoad is 128 requests of 32k tokens.
const defaultTokenLoad = 4_194_304
