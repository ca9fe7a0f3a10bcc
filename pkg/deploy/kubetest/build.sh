#!/bin/sh
# build.sh: builds the programs of the test cluster (etcd, the five of Kubernetes, our
# node add-ons) and prints the folder that holds them. They are kept outside the
# repository by the hash of what they are built from, and built once: some 13 minutes
# on two cores with nothing cached. FLAGS go to go build.
set -eu
cd "$(dirname "$0")"
key=$(cat go.mod go.sum tools.go node/*.go build.sh | sha256sum | cut -c1-16)
out=${XDG_CACHE_HOME:-$HOME/.cache}/bgbench-kubetest/$key
if [ ! -e "$out/built" ]; then
	echo "kubetest: building a Kubernetes in $out: some minutes, once" >&2
	mkdir -p "$out"
	version=k8s.io/component-base/version
	set -- -trimpath ${FLAGS:-}
	export CGO_ENABLED=0
	# Without a version of its own the server calls itself v0.0.0 and charts refuse it.
	go build "$@" -o "$out/" -ldflags "-s -w -X $version.gitVersion=v1.34.4 -X $version.gitMajor=1 -X $version.gitMinor=34" \
		k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager \
		k8s.io/kubernetes/cmd/kube-scheduler k8s.io/kubernetes/cmd/kubelet k8s.io/kubernetes/cmd/kube-proxy
	go build "$@" -ldflags '-s -w' -o "$out/etcd" go.etcd.io/etcd/server/v3
	go build "$@" -ldflags '-s -w' -o "$out/node" ./node
	touch "$out/built"
fi
echo "$out"
