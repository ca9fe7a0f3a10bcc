#!/bin/sh
# plan-reserve.sh [OPTION...]: how large a reserve of the pool interactive requests need,
# before a GPU is touched.
#
# Runs the stack model under each interactive rate and output length, alone and over a
# backlog of batch work that the router holds back to leave each reserve free. Prints, for
# each load, the smallest reserve that is shown to keep interactive TTFT p95 within the
# margin and what it costs batch work, and leaves results.json and report.html with a heat
# map. A second run with the same options goes on where the first one stopped.
#
#   --reserves LIST  shares of the pool in percent            "25 50 75"
#   --rates LIST     interactive requests a second            "4 8 12"
#   --lengths LIST   mean output tokens of all requests       "128 256"
#   --margin SHARE   how much worse TTFT p95 may be           0.1
#   --trials N       repeats of each cell                     5
#   --pool N         requests that a replica takes at once    48
#   --replicas N     model servers                            1
#   --gpu NAME       of the catalogue of the model            H100
#   --model NAME     of the catalogue of the model            Qwen/Qwen3-8B
#   --seconds N      of load in a cell                        60
#   --out DIR        results                                  results/plan-reserve
#
# BIN is the folder of the tools, JOBS how many processes run cells.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/bin}
reserves='25 50 75' rates='4 8 12' lengths='128 256' margin=0.1 trials=5
pool=48 replicas=1 gpu=H100 model=Qwen/Qwen3-8B seconds=60 out=results/plan-reserve

refuse() {
	echo "plan-reserve.sh: $1" >&2
	exit 2
}
# numbers OPTION LIST LOWEST HIGHEST: refuses what is no list of numbers between them.
numbers() {
	printf '%s\n' "$2" | awk -v least="$3" -v most="$4" '
		{ for (i = 1; i <= NF; i++) { n++; if ($i !~ /^[0-9]*\.?[0-9]+$/ || $i + 0 < least || $i + 0 > most) { print $i; exit 1 } } }
		END { if (!n) exit 1 }' >/dev/null || refuse "$1: found \"$2\", expected numbers from $3 to $4"
}
# whole is the same of one whole number.
whole() {
	case $2 in '' | *[!0-9]*) refuse "$1: found \"$2\", expected a whole number from $3 to $4" ;; esac
	numbers "$@"
}
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//;p}' "$0"
		exit 0
		;;
	--reserves | --rates | --lengths | --margin | --trials | --pool | --replicas | --gpu | --model | --seconds | --out)
		[ $# -ge 2 ] || refuse "$1: found nothing after it"
		name=${1#--}
		eval "$name=\$2"
		shift 2
		;;
	*) refuse "found \"$1\", expected an option that --help lists" ;;
	esac
done
numbers --reserves "$reserves" 0.1 99.9
numbers --rates "$rates" 0.1 1000
numbers --lengths "$lengths" 8 4096
numbers --margin "$margin" 0.001 10
whole --trials "$trials" 3 100
whole --pool "$pool" 1 100000
whole --replicas "$replicas" 1 1000
whole --seconds "$seconds" 10 36000
case $out in /*) ;; *) out=$PWD/$out ;; esac

for tool in bg-gen bg-load bg-analyze bg-report; do
	[ -x "$bin/$tool" ] || (cd "$root" && go build -o "$bin/$tool" "./cmd/$tool")
done

# Without a reserve, a ceiling of 1, batch work does the most that it can: the cost is
# counted from there. The backlog must outlast the load: of a step of 8 ms or more, which
# none of the model's servers beats, each place of the pool makes a token at most.
ceilings=$(printf '%s\n' "$reserves" | awk '{ printf "1"; for (i = 1; i <= NF; i++) printf ", %.6g", 1 - $i / 100 }')
requests=$(printf '%s\n' "$lengths" | awk -v pool="$pool" -v replicas="$replicas" -v seconds="$seconds" '
	{ least = $1 + 0; for (i = 2; i <= NF; i++) if ($i + 0 < least) least = $i + 0
	  printf "%d", pool * replicas * (seconds + 10) / (least * 0.008) + 100 }')
list() { printf '%s\n' "$1" | awk '{ for (i = 1; i <= NF; i++) printf "%s%s", (i > 1 ? ", " : ""), $i }'; }
# Frozen in OUT once it is accepted: until then nothing in OUT changes.
asked=$(mktemp -d)
trap 'rm -rf "$asked"' EXIT
cat >"$asked/plan-reserve.yaml" <<END
name: plan-reserve
question: Which reserve of the pool keeps interactive requests within the margin of their latency alone, and what does it cost batch work?
target: model
trials: $trials
margin: $margin
profile:
  name: plan-reserve
  model: $model
  prompt:
    isl: {type: lognormal, mean: 500, sd: 250, min: 32, max: 2048}
    osl: {type: lognormal, mean: 256, sd: 128, min: 8, max: 4096}
  interactive:
    phases: [{name: steady, rate: 4, duration: ${seconds}s}]
  batch: {lead: 10s, jobs: [{name: A, requests: $requests, window: 24h}]}
  # The jobs need not end: what counts is what they get done under the load.
  drain: {interactive: 1m, jobs: 1s}
baseline: alone
arms:
  - {extends: h0-realtime-only, name: alone, engine: {gpu: $gpu, replicas: $replicas}, router: {maxConcurrency: $pool}}
  # Under a light load a ceiling is never reached: no promise. The async processor asks for
  # more than the pool, so that nothing but the router holds batch work back.
  - {extends: h2-holdback, name: reserve, promises: [], engine: {gpu: $gpu, replicas: $replicas}, router: {maxConcurrency: $pool},
     async: {concurrency: $((2 * pool * replicas)), batchSize: $((pool * replicas))}}
sweep:
  router.holdback.minCeiling: [$ceilings]
  interactive.phases.steady.rate: [$(list "$rates")]
  prompt.osl.mean: [$(list "$lengths")]
END

make --no-print-directory -j"${JOBS:-2}" -C "$root" -f pipelines/experiment.mk BIN="$bin" EXPERIMENT="$asked/plan-reserve.yaml" OUT="$out" >&2
"$bin/bg-analyze" arms --metric steady/interactive/ttft/p95 --metric steady/interactive/itl/p95 \
	--metric all/batch/requests_per_s/value "$out/results.json" |
	awk -v margin="$margin" -f "$root/pipelines/plan-reserve.awk"
echo "report: $out/report.html"
