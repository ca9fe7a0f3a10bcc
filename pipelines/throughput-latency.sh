#!/bin/sh
# throughput-latency.sh ARM [OUT]: how latency grows with load, on the stack model.
#
# Measures ARM, a name of the catalogue or a file, at each of RATES (1-16) for EACH (30s)
# after a warm-up as long, and prints a line a rate: what was offered and served, TTFT from
# the due time at p50 and p95, and the knee, where throughput over p95 TTFT is highest of the
# rates tried. PROFILE (ci) has the prompts. Leaves the cells and rates.json in OUT,
# results/rates-ARM by default: bg-report html --rates draws it beside results.
#
#   RATES=2,4,8-12 pipelines/throughput-latency.sh s0-interactive-only
#
# BIN is the folder of the tools.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "throughput-latency.sh: found $# arguments, expected ARM [OUT]" >&2
	exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/bin}
arm=$1 out=${2:-results/rates-$(basename "$1" .yaml)}
for tool in bg-deploy bg-load bg-analyze; do
	[ -x "$bin/$tool" ] || (cd "$root" && go build -o "$bin/$tool" "./cmd/$tool")
done
mkdir -p "$out"
"$bin/bg-deploy" up --arm "$arm" --profile "${PROFILE:-ci}" --target model -o "$out/stack.json"
"$bin/bg-load" sweep --stack "$out/stack.json" --profile "${PROFILE:-ci}" --rates "${RATES:-1-16}" --duration "${EACH:-30s}" -o "$out/cells"
"$bin/bg-analyze" sweep --format json "$out/cells" -o "$out/rates.json"
"$bin/bg-analyze" sweep "$out/cells" | awk -F '\t' '
	function ms(s) { return s == "" ? "-" : sprintf("%.0f ms", 1000 * s) }
	NR == 1 {
		for (i = 1; i <= NF; i++) column[$i] = i
		printf "%9s  %9s  %9s  %9s\n", "offered/s", "served/s", "TTFT p50", "TTFT p95"
		next
	}
	{
		printf "%9.2f  %9.2f  %9s  %9s%s\n", $column["offered_requests_per_s"], $column["ok_requests_per_s"],
			ms($column["ttft_from_due_p50_s"]), ms($column["ttft_from_due_p95_s"]), ($column["knee"] == "true" ? "  knee" : "")
	}'
