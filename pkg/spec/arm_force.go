package spec

// inForce is a without what its way of dispatching and its router do not read, and
// without its name: two arms that act alike are alike.
func (a Arm) inForce() Arm {
	a.Name, a.Description = "", ""
	if a.Dispatch != DispatchBacklog {
		a.Backlog = Backlog{}
	}
	if a.Dispatch != DispatchSync && a.Dispatch != DispatchAsync {
		a.Gateway = Gateway{}
	}
	if a.Dispatch != DispatchAsync {
		a.Async = Async{}
	}
	if !a.Router.Eviction {
		a.Async.Resume = false // nothing interrupts a stream
	}
	if !a.Gateway.Concurrency.AIMD.Enabled {
		a.Gateway.Concurrency.AIMD = AIMD{}
	}
	r := a.Router
	switch {
	case r.Kind != RouterEPP:
		a.Router = Router{Kind: r.Kind}
	case r.Config != "":
		a.Router = Router{
			Kind: r.Kind, Objectives: r.Objectives,
			InteractiveObjective: r.InteractiveObjective, StandardObjective: r.StandardObjective,
			AllowExperimentalPlugins: r.AllowExperimentalPlugins, DispatchLag: r.DispatchLag, Config: r.Config,
		}
	}
	return a
}
