#!/bin/sh
# measure-endpoint.sh URL [MODEL] [OUT]: measures an OpenAI endpoint as it is, in two minutes a trial.
#
# URL is that of vLLM, SGLang, Ollama, llama.cpp or a service, with or without /v1; MODEL is
# asked for where it offers one (give - for that before an OUT). Runs three trials of interactive
# requests (TRIALS, PROFILE, and SETS with KEY=VALUE ... over the profile say otherwise), and leaves
# results.json and report.html in OUT, results/endpoint by default. The same command goes on
# where it was cut. The API key is taken from BG_API_KEY.
#
#   pipelines/measure-endpoint.sh http://127.0.0.1:11434 llama3.2
#   ARM=b pipelines/measure-endpoint.sh http://127.0.0.1:30000 - results/a-and-b
#
# ARM names the endpoint in results, "endpoint" otherwise: a second endpoint under another name
# in the same OUT is compared with the first. BIN is the folder of the tools.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/bin}
case $# in
1 | 2 | 3) ;;
*)
	echo "measure-endpoint.sh: found $# arguments, expected URL [MODEL] [OUT]" >&2
	exit 2
	;;
esac
url=$1 model=${2:--} out=${3:-results/endpoint} arm=${ARM:-endpoint} trials=${TRIALS:-3}

for tool in bg-load bg-analyze bg-report; do
	[ -x "$bin/$tool" ] || (cd "$root" && go build -o "$bin/$tool" "./cmd/$tool")
done
set -- --target "$url" --arm "$arm" --profile "${PROFILE:-quick}"
if [ "$model" != - ]; then set -- "$@" --model "$model"; fi
for kv in ${SETS:-}; do set -- "$@" --set "$kv"; done

trial=1
while [ "$trial" -le "$trials" ]; do
	cell=$out/cells/$arm/t$trial
	if [ -e "$cell/run-metadata.json" ]; then
		echo "measure-endpoint.sh: $cell is finished already" >&2
	else
		"$bin/bg-load" run "$@" --trial "$trial" -o "$cell"
	fi
	trial=$((trial + 1))
done
"$bin/bg-analyze" compare -o "$out/results.json" "$out"
"$bin/bg-report" html -o "$out/report.html" "$out/results.json"
exec "$bin/bg-analyze" explain "$out/results.json"
