#!/bin/bash
# cluster.sh up|down STATE: a single-node Kubernetes in network namespace
# $BG_CLUSTER_NS with all its state under STATE. STATE/admin.conf is its kubeconfig, good
# inside the namespace: nsenter --net=/run/netns/NAME COMMAND. BG_CLUSTER_PROGRAMS is the
# folder that build.sh printed, BG_CLUSTER_IMAGES one of image archives, the pause image
# among them, BG_CLUSTER_CRDS a file of kinds to begin with.
set -eu
ns=${BG_CLUSTER_NS:-bgkube}
programs=${BG_CLUSTER_PROGRAMS:-}
state=$(realpath -m "${2:?folder for the state}")
logs=$state/log pki=$state/pki
ctr() { command ctr -a "$state/containerd.sock" -n k8s.io "$@"; }
innet() { # innet NAME COMMAND: a daemon in the network namespace
	local name=$1
	shift
	nsenter --net="/run/netns/$ns" "$@" >"$logs/$name.log" 2>&1 &
	echo "$! $name" >>"$state/pids"
}
api() { # api PATH: GET from the API server
	nsenter --net="/run/netns/$ns" curl -sk --max-time 2 -H 'Authorization: Bearer admintoken' "https://127.0.0.1:6443$1"
}
await() { # await SECONDS WHAT COMMAND: poll until COMMAND succeeds
	local n=$(($1 * 5)) what=$2
	shift 2
	for ((i = 0; i < n; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.2
	done
	echo "cluster.sh: no $what in time, see $logs" >&2
	return 1
}
apiserver() {
	innet kube-apiserver "$programs/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 \
		--advertise-address=10.88.0.1 --secure-port=6443 --cert-dir="$pki" --service-account-issuer=https://kubernetes.default.svc \
		--service-account-key-file="$pki/sa.key" --service-account-signing-key-file="$pki/sa.key" --token-auth-file="$pki/tokens.csv" \
		--authorization-mode=RBAC --service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true --kubelet-preferred-address-types=InternalIP \
		--audit-policy-file="$pki/audit.yaml" --audit-log-path="$logs/audit.log"
	await 120 'answer from the API server' ready_api
}
ready_api() { [ "$(api /readyz)" = ok ]; }
ready_node() { api /api/v1/nodes/node1 | tr -d ' \n' | grep -q '"type":"Ready","status":"True"\|"status":"True"[^}]*"reason":"KubeletReady"'; }
ready_account() { api /api/v1/namespaces/default/serviceaccounts/default | grep -q '"name": "default"'; }
create_kinds() { # make the kinds of the file $BG_CLUSTER_CRDS; true once all of them are served
	local one
	csplit -s -z -f "$state/kind-" "$BG_CLUSTER_CRDS" '/^---$/' '{*}'
	for one in "$state"/kind-*; do
		nsenter --net="/run/netns/$ns" curl -sk --max-time 10 -H 'Authorization: Bearer admintoken' -H 'Content-Type: application/yaml' \
			--data-binary "@$one" https://127.0.0.1:6443/apis/apiextensions.k8s.io/v1/customresourcedefinitions
	done
	for one in "$state"/kind-*; do
		api "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/$(sed -n 's/.*name: \([a-z.8-]*\.[a-z]*\).*/\1/p' "$one" | head -n 1)" |
			tr -d ' \n' | grep -q '"type":"Established","status":"True"\|"status":"True"[^}]*"type":"Established"' || return 1
	done
}

up() {
	: "${BG_CLUSTER_PROGRAMS:?folder of the programs}" "${BG_CLUSTER_IMAGES:?folder of image archives}"
	mkdir -p "$logs" "$pki" "$state"/{etcd,kubelet,podlogs,cni,fakesys,volumes}
	: >"$state/pids"
	ip netns add "$ns"
	ip -n "$ns" link set lo up
	ip -n "$ns" link add cni0 type bridge
	ip -n "$ns" addr add 10.88.0.1/24 dev cni0
	ip -n "$ns" link set cni0 up
	ip -n "$ns" route add default dev cni0 # so that the node itself reaches cluster addresses
	[ -f "$pki/sa.key" ] || openssl genrsa -out "$pki/sa.key" 2048 2>/dev/null
	echo 'admintoken,admin,admin,system:masters' >"$pki/tokens.csv"
	# What the account of bg-deploy asks for is written down, and held against its rights.
	cat >"$pki/audit.yaml" <<-A
		apiVersion: audit.k8s.io/v1
		kind: Policy
		omitStages: [RequestReceived, ResponseStarted]
		rules:
		- {level: Metadata, users: ["system:serviceaccount:bg-deploy:bg-deploy"]}
		- {level: None}
	A
	cat >"$state/admin.conf" <<-K
		apiVersion: v1
		kind: Config
		clusters: [{name: bgkube, cluster: {server: "https://127.0.0.1:6443", certificate-authority: $pki/apiserver.crt, tls-server-name: localhost}}]
		users: [{name: admin, user: {token: admintoken}}]
		contexts: [{name: bgkube, context: {cluster: bgkube, user: admin}}]
		current-context: bgkube
	K
	cat >"$state/cni/10-bg.conflist" <<-C
		{"cniVersion":"0.4.0","name":"$ns","plugins":[
		 {"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":true,"hairpinMode":true,
		  "ipam":{"type":"host-local","dataDir":"$state/cni-ipam","ranges":[[{"subnet":"10.88.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
		 {"type":"portmap","capabilities":{"portMappings":true}}]}
	C
	cat >"$state/containerd.toml" <<-C
		version = 2
		root = "$state/containerd"
		state = "$state/cstate"
		[grpc]
		  address = "$state/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "registry.local/pause:1"
		  restrict_oom_score_adj = true
		  disable_apparmor = true
		  netns_mounts_under_state_dir = true
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "/usr/lib/cni"
		    conf_dir = "$state/cni"
		  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		    runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "$state/opt"
	C
	# containerd and the kubelet share a mount namespace that nobody else sees.
	nsenter --net="/run/netns/$ns" unshare -m --propagation private containerd -c "$state/containerd.toml" >"$logs/containerd.log" 2>&1 &
	local containerd=$!
	echo "$containerd containerd" >>"$state/pids"
	innet etcd "$programs/etcd" --data-dir "$state/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
		--advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 \
		--initial-advertise-peer-urls http://127.0.0.1:2380 --initial-cluster default=http://127.0.0.1:2380
	apiserver
	innet kube-controller-manager "$programs/kube-controller-manager" --kubeconfig="$state/admin.conf" --leader-elect=false \
		--service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/apiserver.crt" --bind-address=127.0.0.1 --cert-dir="$pki/kcm"
	innet kube-scheduler "$programs/kube-scheduler" --kubeconfig="$state/admin.conf" --leader-elect=false --bind-address=127.0.0.1 --cert-dir="$pki/sched"
	innet node "$programs/node" --kubeconfig "$state/admin.conf" --volumes "$state/volumes"
	await 60 containerd ctr version
	for archive in "$BG_CLUSTER_IMAGES"/*.tar; do ctr images import "$archive" >/dev/null; done
	# The kubelet wants these for the whole machine; it sees them in its mount namespace only.
	local kv file
	for kv in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
		file=$state/fakesys/$(basename "${kv%=*}")
		echo "${kv#*=}" >"$file"
		nsenter -t "$containerd" -m mount --bind "$file" "/proc/sys/${kv%=*}"
	done
	cat >"$state/kubelet.yaml" <<-C
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: 10.88.0.1
		healthzBindAddress: 127.0.0.1
		authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
		authorization: {mode: AlwaysAllow}
		cgroupDriver: cgroupfs
		cgroupsPerQOS: false
		enforceNodeAllocatable: []
		failSwapOn: false
		failCgroupV1: false
		containerRuntimeEndpoint: unix://$state/containerd.sock
		podLogsDir: $state/podlogs
		resolvConf: ""
		clusterDNS: [10.96.0.10]
		clusterDomain: cluster.local
		localStorageCapacityIsolation: false
		evictionHard: {memory.available: "100Mi"}
		oomScoreAdj: 0
		syncFrequency: 10s
	C
	nsenter -t "$containerd" -m -n "$programs/kubelet" --config="$state/kubelet.yaml" --kubeconfig="$state/admin.conf" --root-dir="$state/kubelet" \
		--cert-dir="$state/kubelet/pki" --hostname-override=node1 --node-ip=10.88.0.1 --v=2 >"$logs/kubelet.log" 2>&1 &
	echo "$! kubelet" >>"$state/pids"
	innet kube-proxy "$programs/kube-proxy" --kubeconfig="$state/admin.conf" --proxy-mode=iptables --cluster-cidr=10.88.0.0/24 \
		--hostname-override=node1 --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0s --conntrack-tcp-timeout-close-wait=0s \
		--metrics-bind-address=127.0.0.1:10249 --healthz-bind-address=127.0.0.1:10256
	await 120 'ready node' ready_node
	await 60 'default account' ready_account
	[ -z "${BG_CLUSTER_CRDS:-}" ] || await 60 'kinds of custom resources' create_kinds
	echo "$state/admin.conf"
}

stop() { # stop NAME: end a daemon and wait for it
	local pid
	pid=$(awk -v n="$1" '$2 == n {p = $1} END {print p}' "$state/pids")
	[ -n "$pid" ] || return 0
	kill "$pid" 2>/dev/null || true
	for ((i = 0; i < 100; i++)); do
		[ -d "/proc/$pid" ] || return 0
		sleep 0.1
	done
	kill -9 "$pid" 2>/dev/null || true
}

down() {
	[ -f "$state/pids" ] || return 0
	local name t
	for name in node kubelet kube-proxy kube-scheduler kube-controller-manager kube-apiserver etcd; do stop "$name"; done
	for t in $(ctr tasks ls -q || true); do ctr tasks kill -s KILL "$t" >/dev/null 2>&1 || true; done
	for t in $(ctr containers ls -q || true); do
		ctr tasks rm -f "$t" >/dev/null 2>&1 || true
		ctr containers rm "$t" >/dev/null 2>&1 || true
	done
	stop containerd
	ip netns del "$ns" 2>/dev/null || true
	# What the network plugins keep of pods that were there until now: it names their network
	# namespaces, which are below STATE.
	grep -slF "$state/" /var/lib/cni/results/* | while read -r t; do rm -f "$t"; done || true
	rmdir /sys/fs/cgroup/*/k8s.io 2>/dev/null || true
	rm -f "$state/pids"
}

case ${1:-} in
up) up ;;
down) down ;;
apiserver-stop) stop kube-apiserver ;;
apiserver-start) apiserver ;;
*)
	echo 'usage: cluster.sh up|down|apiserver-stop|apiserver-start STATE' >&2
	exit 2
	;;
esac
