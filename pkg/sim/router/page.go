package router

import "slices"

// HasValue reports whether the router's own page ever has a count or a gauge of that name,
// which a histogram is not. Most are there only once something was counted.
func HasValue(name string) bool {
	return slices.ContainsFunc(families(), func(f family) bool {
		return f.bounds == nil && (f.name == name || f.oldName == name && name != "")
	})
}

// families are all of the page.
func families() []family {
	return []family{
		queueSizeFamily, queueBytesFamily, queueDurationFamily, enqueueDurationFamily,
		cycleDurationFamily, poolSaturationFamily, staleEndpointsFamily, flowRequestsFamily,
		revocationsIssuedFamily, revocationsFamily, reclaimTargetFamily, pendingReclaimFamily,
		confirmationFamily, inflightRequestsFamily, inflightTokensFamily, requestTotalFamily,
		requestErrorsFamily, requestDurationFamily, requestSizeFamily, inputTokensFamily,
		outputTokensFamily, cachedTokensFamily, runningFamily, ntpotFamily, ttftFamily, tpotFamily,
		itlFamily, requestProcessingFamily, responseProcessingFamily, attemptsFamily,
		schedulerDurationFamily, infoFamily, readyEndpointsFamily, averageQueueFamily,
		averageRunningFamily, averageKVFamily, deviationQueueFamily, deviationRunningFamily,
		deviationKVFamily, endpointQueueFamily,
	}
}
