// Package standin runs the emulated components one by one, each in the place of its
// upstream image: vLLM from vLLM's flags, the router from an EndpointPickerConfig with
// pods and objectives of a cluster, the batch gateway from its processor's
// configuration, the async processor from its queues.
//
// They talk HTTP to each other, where upstream's batch gateway and async processor share
// Redis. cmd/bg-deploy serves them; pkg/deploy/kubetest puts them into images.
package standin
