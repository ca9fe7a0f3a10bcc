// Package kubetest builds and runs a whole Kubernetes on one machine, for the tests of
// target kube: etcd, API server, controllers, scheduler, kubelet with containerd,
// kube-proxy and names, in a network namespace of its own. It is a test fixture and
// nothing else: its kubelet asks nobody who they are, its administrator has a fixed
// token, and it is reachable from its own network namespace only.
//
// It is a module of its own so that what it pins stays out of the tools. build.sh builds
// the programs once and keeps them outside the repository; cluster.sh starts and stops
// them (root, containerd, runc, CNI plugins and iptables needed); images.sh makes the
// images of the emulated components; charts are small ones with the names, values and
// objects of the upstream ones.
package kubetest
