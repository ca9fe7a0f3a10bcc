#!/bin/bash
# with-cluster.sh COMMAND...: runs a command against a Kubernetes that lives as long as
# it: built here, on this machine, with the emulated components as images and small
# charts in the place of upstream's. The command's environment has KUBECONFIG and the
# flags of bg-deploy (BG_MODE, BG_GPUS, BG_CHART, BG_IMAGE) that say so.
#
# A machine that cannot have a cluster is told why, as a line that begins with SKIP:,
# and the command is skipped. Where only programs are missing, CI=true makes that a
# failure: a machine of CI is one that can have them. KUBECONFIG, where it is set, names
# a cluster to use instead, which must have the images.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() {
	echo "SKIP: $1" >&2
	exit 0
}
missing() { # missing PROGRAM PACKAGES
	[ "${CI:-}" = true ] || skip "$1 is not installed (Debian: $2)"
	echo "with-cluster.sh: $1 is not installed (Debian: $2)" >&2
	exit 1
}
registry=${BG_TEST_REGISTRY:-registry.local}
tools=$registry/bgbench:test
export BG_MODE=gpu BG_GPUS=0 PROMETHEUS_URL=http://none.invalid:9090
export BG_CHART="router=$here/charts/router,router-gateway=$here/charts/router-gateway,batch-gateway=$here/charts/batch-gateway,async=$here/charts/llm-d-async"
export BG_IMAGE="bgbench=$tools,vllm=$tools,inference-sim=$registry/inference-sim:test,endpoint-picker=$tools,batch-apiserver=$tools,batch-processor=$tools,async=$tools,redis=$registry/redis:test,postgresql=$registry/postgresql:test"
export BG_TEST_CRDS=$here/crds.yaml
if [ -n "${KUBECONFIG:-}" ]; then
	exec "$@"
fi

[ "$(id -u)" = 0 ] || skip 'a cluster needs root: network namespaces, containers'
for program in ip nsenter unshare; do
	command -v "$program" >/dev/null || missing "$program" 'iproute2 util-linux'
done
state=$(mktemp -d /tmp/bgkube.XXXXXX)
export BG_CLUSTER_NS=bgkube$$
trap 'rm -rf "$state"' EXIT
ip netns add "$BG_CLUSTER_NS.probe" 2>/dev/null || skip 'network namespaces are not allowed here'
ip netns del "$BG_CLUSTER_NS.probe"
mkdir "$state"/{lower,upper,work,merged}
unshare -m --propagation private mount -t overlay overlay -o "lowerdir=$state/lower,upperdir=$state/upper,workdir=$state/work" "$state/merged" 2>/dev/null ||
	skip 'mount namespaces or overlay file systems are not allowed here'
group=$(echo /sys/fs/cgroup/memory/. /sys/fs/cgroup/unified/. /sys/fs/cgroup/. | tr ' ' '\n' | while read -r d; do if [ -d "$d" ]; then echo "$d"; break; fi; done)
mkdir "$group/$BG_CLUSTER_NS" 2>/dev/null || skip 'control groups are not allowed here'
rmdir "$group/$BG_CLUSTER_NS"
for program in containerd runc iptables curl openssl redis-server; do
	command -v "$program" >/dev/null || missing "$program" 'containerd runc iptables curl openssl redis-server'
done
[ -x /usr/lib/cni/bridge ] || missing /usr/lib/cni/bridge containernetworking-plugins
(cd "$here" && go mod download) || skip 'the modules of Kubernetes cannot be had from here'
# What the command has in its environment begins with BG_: a pipeline has a BIN of its own.
BG_CLUSTER_PROGRAMS=$("$here/build.sh")
export BG_CLUSTER_PROGRAMS
"$here/images.sh" "$state/images"

# What is there of the cluster at the end is a failure of its own.
leftovers() {
	grep -F "$state" /proc/mounts || true
	ls -d "/run/netns/$BG_CLUSTER_NS" 2>/dev/null || true
	grep -slF "$state/" /var/lib/cni/results/* || true
	for p in /proc/[0-9]*; do
		if [ "${p#/proc/}" != $$ ] && tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -qF "$state/"; then echo "process ${p#/proc/}: $(tr '\0' ' ' <"$p/cmdline")"; fi
	done 2>/dev/null
}
finish() {
	status=$?
	"$here/cluster.sh" down "$state" || status=1
	left=$(leftovers)
	if [ -n "$left" ]; then
		printf 'with-cluster.sh: left on this machine:\n%s\n' "$left" >&2
		status=1
	fi
	rm -rf "$state"
	exit "$status"
}
trap finish EXIT
BG_CLUSTER_IMAGES=$state/images BG_CLUSTER_CRDS=$BG_TEST_CRDS "$here/cluster.sh" up "$state"
export KUBECONFIG=$state/admin.conf BG_CLUSTER_STATE=$state BG_CLUSTER_SH=$here/cluster.sh BG_CLUSTER_AUDIT=$state/log/audit.log
nsenter --net="/run/netns/$BG_CLUSTER_NS" "$@"
