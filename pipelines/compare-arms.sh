#!/bin/sh
# compare-arms.sh ARM ARM... [-- OUT]: compares arms on the stack model, in half a minute.
#
# Of two arms, names of the catalogue or files, the first is the baseline. Runs three trials
# of the short workload (PROFILE, TRIALS and MARGIN say otherwise) and prints what was asked,
# what engaged, what was concluded and what would change it. Leaves results.json and
# report.html in OUT, results/FIRST-SECOND... by default.
#
#   pipelines/compare-arms.sh s0-interactive-only s6-low-concurrency
#   TRIALS=5 pipelines/compare-arms.sh s0-interactive-only s3-admission-aimd my-arm.yaml
#
# BIN is the folder of the tools.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/bin}
arms='' first='' name=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	arm=$1 short=$(basename "$1" .yaml)
	case $arm in *.yaml) arm=$(cd "$(dirname "$arm")" && pwd)/$(basename "$arm") ;; esac
	arms="$arms${arms:+, }$arm" first=${first:-$short} name="$name${name:+-}$short"
	shift
done
case $arms in
*,*) ;;
*)
	echo "compare-arms.sh: found \"$arms\", expected two arms or more" >&2
	echo "hint: bg-gen arms lists the catalogue" >&2
	exit 2
	;;
esac
profile=${PROFILE:-ci}
case $profile in *.yaml) profile=$(cd "$(dirname "$profile")" && pwd)/$(basename "$profile") ;; esac
out=${2:-results/$name}
case $out in /*) ;; *) out=$PWD/$out ;; esac

for tool in bg-gen bg-load bg-analyze bg-report; do
	[ -x "$bin/$tool" ] || (cd "$root" && go build -o "$bin/$tool" "./cmd/$tool")
done
# Frozen in OUT once it is accepted: until then nothing in OUT changes.
asked=$(mktemp -d)
trap 'rm -rf "$asked"' EXIT
cat >"$asked/compare-arms.yaml" <<END
name: compare-arms
question: What do the arms do to interactive requests and to batch work, against $first?
target: model
trials: ${TRIALS:-3}
margin: ${MARGIN:-0.1}
profile: $profile
baseline: $first
arms: [$arms]
# The servers and the pool of batch-gateway-ci: what the short workload fills.
armSet: {engine.maxNumSeqs: 32, router.maxConcurrency: 24}
END
make --no-print-directory -j"${JOBS:-2}" -C "$root" -f pipelines/experiment.mk BIN="$bin" EXPERIMENT="$asked/compare-arms.yaml" OUT="$out" >&2
"$bin/bg-analyze" explain "$out/results.json"
