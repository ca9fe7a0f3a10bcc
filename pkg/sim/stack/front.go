package stack

import (
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/sim/router"
	"bgbench/pkg/spec"
)

// poolName is the InferencePool that the router's metrics speak of.
const poolName = "bgbench"

// front builds the router before the engines of s, and its metrics if it has any.
func (s *Stack) front(k *kernel.Kernel, arm spec.Router, seed int64) (sim.Backend, *metric.Registry, error) {
	if arm.Kind == spec.RouterRoundRobin {
		backends := make([]sim.Backend, len(s.engines))
		for i, e := range s.engines {
			backends[i] = e
		}
		return router.NewRoundRobin(backends), nil, nil
	}
	config, err := arm.EndpointPickerConfig()
	if err != nil {
		return nil, nil, err
	}
	objectives := make(map[string]int, len(arm.Objectives))
	for _, o := range arm.Objectives {
		objectives[o.Name] = o.Priority
	}
	endpoints := make([]router.Endpoint, len(s.engines))
	for i, e := range s.engines {
		endpoints[i] = router.Endpoint{Name: spec.EngineName(i), Backend: e, Scrape: func() router.Page {
			g := e.Gauges()
			return router.Page{Waiting: g.Waiting, Running: g.Running, KVUsage: g.KVUsage}
		}}
	}
	r, err := router.New(k, router.Config{
		EndpointPicker: config,
		Flags:          router.Flags{AllowExperimentalPlugins: arm.AllowExperimentalPlugins},
		Objectives:     objectives,
		DispatchLag:    arm.DispatchLag.Std(),
		Pool:           poolName,
		Seed:           seed,
	}, endpoints)
	if err != nil {
		return nil, nil, err
	}
	return r, r.Metrics(), nil
}
