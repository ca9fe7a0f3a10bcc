package kube

import (
	"strings"
)

// pluginsFile is the name under which the chart keeps the endpoint picker's
// configuration.
const pluginsFile = "bgbench.yaml"

// annotationConfig stamps the endpoint picker's configuration on its pod: the chart does
// not roll the pod when only its ConfigMap changes (llm-d-router v0.10).
const annotationConfig = "bgbench.dev/config"

// routerChartName is the chart of the router: of the same values, one brings an Envoy and
// the other a route.
func (c Cell) routerChartName() string {
	if c.Router == RouterGateway {
		return chartRouterGateway
	}
	return chartRouter
}

// routerChart is the endpoint picker, with Envoy in its pod or behind a Gateway.
func (c Cell) routerChart() (Chart, error) {
	config, err := c.Plan.Arm.Router.EndpointPickerConfig()
	if err != nil {
		return Chart{}, err
	}
	epp := c.image(imageEndpointPicker)
	registry, repository := splitRegistry(epp.Repository)
	requests := map[string]any{"cpu": "4", "memory": "8Gi"}
	limits := map[string]any{"memory": "16Gi"}
	if c.small() {
		// The chart asks for 8 and 4 CPUs, more than a small cluster has.
		requests = map[string]any{"cpu": "50m", "memory": "128Mi"}
		limits = map[string]any{"memory": "2Gi"}
	}
	resources := map[string]any{"requests": requests, "limits": limits}
	router := map[string]any{
		"epp": map[string]any{
			"replicas":            1, // state of flow control is a replica's own
			"image":               map[string]any{"registry": registry, "repository": repository, "tag": tagOf(epp), "pullPolicy": "IfNotPresent"},
			"pluginsConfigFile":   pluginsFile,
			"pluginsCustomConfig": map[string]any{pluginsFile: config},
			// The log at level 4 has the configuration that was loaded and the objective
			// of a request, which verify reads.
			"flags":          c.eppFlags(),
			"podAnnotations": map[string]any{annotationConfig: digest([]byte(config))},
			"resources":      resources,
		},
		"inferencePool": map[string]any{"create": true, "failureMode": "FailClose"},
		"modelServers": map[string]any{
			"type": "vllm", "protocol": "http",
			"targetPorts": []any{map[string]any{"number": enginePort}},
			"matchLabels": map[string]any{labelComponent: engineName},
		},
		"monitoring": map[string]any{"prometheus": c.monitored(map[string]any{"auth": map[string]any{"enabled": false}}, "extraLabels")},
		"tracing":    map[string]any{"enabled": false},
	}
	values := map[string]any{"router": router}
	if c.Router == RouterGateway {
		values["provider"] = map[string]any{"name": c.GatewayClass}
		values["httpRoute"] = map[string]any{"create": true, "inferenceGatewayName": gatewayName, "requestTimeout": neverCut}
	} else {
		router["proxy"] = map[string]any{
			"enabled": true, "proxyType": "envoy", "mode": "sidecar", "image": c.image(imageEnvoy).String(),
			// Without its endpoint picker Envoy would let everything through, to any server.
			"failOpen": false, "resources": resources,
		}
	}
	name := c.routerChartName()
	return Chart{Name: name, Release: routerRelease, Version: c.Versions.Charts[name], Values: values}, nil
}

func (c Cell) eppFlags() map[string]any {
	flags := map[string]any{"v": 2}
	if c.Plan.Arm.Router.AllowExperimentalPlugins {
		flags["allow-experimental-plugins"] = true
	}
	return flags
}

// monitored switches the monitor of a chart on where there is a Prometheus operator.
func (c Cell) monitored(values map[string]any, labelsKey string) map[string]any {
	values["enabled"] = len(c.MonitorLabels) > 0
	if len(c.MonitorLabels) > 0 {
		labels := map[string]any{}
		for k, v := range c.MonitorLabels {
			labels[k] = v
		}
		values[labelsKey] = labels
	}
	return values
}

// splitRegistry cuts a repository into the two parts that the router's chart puts
// together again.
func splitRegistry(repository string) (registry, name string) {
	slash := strings.LastIndexByte(repository, '/')
	if slash < 0 {
		return "docker.io/library", repository
	}
	return repository[:slash], repository[slash+1:]
}

// tagOf is the tag for charts that have no key for a digest: a tag with a digest behind
// it names the digest.
func tagOf(i Image) string {
	if i.Digest != "" {
		return i.Tag + "@" + i.Digest
	}
	return i.Tag
}
