#!/bin/sh
# ci-gate.sh EXPERIMENT BASELINE OUT: a stage of CI that runs an experiment in OUT and fails
# on a regression.
#
# BASELINE is the results.json of an accepted run, or a folder of earlier ones. SETS changes
# keys of the experiment as experiment.mk has it, WITHIN (0.1) is how far medians may be
# apart. Leaves report.html, report.md and check.xml (JUnit) in OUT; on GitHub also notes at
# the run. Exit code 3: a metric got worse than chance explains, or a cell is INVALID.
#
#   SETS='target=model trials=3' pipelines/ci-gate.sh batch-gateway-ci main.json results/gate
#
# BIN is the folder of the tools.
set -eu
if [ $# -ne 3 ]; then
	echo "ci-gate.sh: found $# arguments, expected EXPERIMENT BASELINE OUT" >&2
	exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/bin}
experiment=$1 baseline=$2 out=$3
case $out in /*) ;; *) out=$PWD/$out ;; esac
case $experiment in
*/* | *.yaml) case $experiment in /*) ;; *) experiment=$PWD/$experiment ;; esac ;;
esac
# A gate without a baseline would let everything pass.
if [ ! -e "$baseline" ]; then
	echo "ci-gate.sh: $baseline: there is no such file or folder" >&2
	echo "hint: accept a run first: make -f pipelines/experiment.mk EXPERIMENT=$1, and keep its results.json" >&2
	exit 2
fi

for tool in bg-gen bg-deploy bg-load bg-scrape bg-analyze bg-report; do
	[ -x "$bin/$tool" ] || (cd "$root" && go build -o "$bin/$tool" "./cmd/$tool")
done
make --no-print-directory -j"${JOBS:-2}" -C "$root" -f pipelines/experiment.mk BIN="$bin" EXPERIMENT="$experiment" SETS="${SETS:-}" OUT="$out" >&2
"$bin/bg-analyze" compare --strict "$out" >/dev/null
check() { "$bin/bg-analyze" check --baseline "$baseline" --fail-on regression --within "${WITHIN:-0.1}" "$@" "$out/results.json"; }
failed=0
check --quiet --output junit >"$out/check.xml" 2>/dev/null || failed=$?
if [ -n "${GITHUB_ACTIONS:-}" ]; then check --quiet --output github || true; fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$out/report.md" >>"$GITHUB_STEP_SUMMARY"; fi
check || failed=$?
exit "$failed"
