#!/bin/bash
# with-cluster.sh COMMAND...: runs a command against a Kubernetes that lives as long as
# it: built here, on this machine, with the emulated components as images and small
# charts in the place of upstream's. The command's environment has KUBECONFIG and the
# flags of bg-deploy (BG_MODE, BG_GPUS, BG_CHART, BG_IMAGE) that say so.
#
# A machine that cannot have a cluster is told why and the command is skipped; with
# CI=true that is a failure. KUBECONFIG, where it is set, names a cluster to use instead,
# which must have the images.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() {
	echo "SKIP: $1" >&2
	[ "${CI:-}" = true ] && exit 1
	exit 0
}
registry=${BG_TEST_REGISTRY:-registry.local}
tools=$registry/bgbench:test
export BG_MODE=gpu BG_GPUS=0 PROMETHEUS_URL=http://none.invalid:9090
export BG_CHART="router=$here/charts/router,batch-gateway=$here/charts/batch-gateway,async=$here/charts/llm-d-async"
export BG_IMAGE="bgbench=$tools,vllm=$tools,inference-sim=$registry/inference-sim:test,endpoint-picker=$tools,batch-apiserver=$tools,batch-processor=$tools,async=$tools,redis=$registry/redis:test,postgresql=$registry/postgresql:test"
export BG_TEST_CRDS=$here/crds.yaml
if [ -n "${KUBECONFIG:-}" ]; then
	exec "$@"
fi

[ "$(id -u)" = 0 ] || skip 'a cluster needs root: network namespaces, containers'
for program in containerd runc ip nsenter unshare iptables curl openssl redis-server; do
	command -v "$program" >/dev/null || skip "$program is not installed (Debian: containerd runc iproute2 util-linux iptables curl openssl redis-server)"
done
[ -x /usr/lib/cni/bridge ] || skip '/usr/lib/cni/bridge is not there (Debian: containernetworking-plugins)'
export NS=${NS:-bgkube$$}
state=$(mktemp -d /tmp/bgkube.XXXXXX)
ip netns add "$NS.probe" 2>/dev/null || skip 'network namespaces are not allowed here'
ip netns del "$NS.probe"
trap 'BG_CLUSTER_STATE=; "$here/cluster.sh" down "$state" || true; rm -rf "$state"' EXIT
BIN=$("$here/build.sh")
IMAGES=$state/images
export BIN IMAGES
"$here/images.sh" "$IMAGES"
"$here/cluster.sh" up "$state"
export KUBECONFIG=$state/admin.conf BG_CLUSTER_STATE=$state BG_CLUSTER_SH=$here/cluster.sh
nsenter --net="/run/netns/$NS" "$@"
