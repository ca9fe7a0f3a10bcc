#!/bin/sh
# archive.sh keep RUN ARCHIVE | verify FOLDER | compare RUN ARCHIVE: results that are there
# in a year.
#
# keep copies a finished experiment to ARCHIVE/NAME/DAY (DAY-2, ... if there is one) with
# the SHA-256 of every file, and prints the folder. verify says whether a folder is still
# what was kept, and whether its figures follow from its rows. compare holds a run against
# all that were kept of its experiment. Exit code 3: something differs.
#
#   pipelines/archive.sh keep results/batch-gateway-ci archive
#   pipelines/archive.sh compare results/batch-gateway-ci archive
#
# BIN is the folder of the tools, DAY (today) the name of what is kept.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/bin}
usage() {
	echo "archive.sh: found \"$*\", expected keep RUN ARCHIVE, verify FOLDER or compare RUN ARCHIVE" >&2
	exit 2
}
[ -x "$bin/bg-analyze" ] || (cd "$root" && go build -o "$bin/bg-analyze" ./cmd/bg-analyze)
# name_of RUN: the name of its experiment.
name_of() {
	if [ ! -f "$1/results.json" ] || [ ! -f "$1/experiment.yaml" ]; then
		echo "archive.sh: $1: expected the folder of a finished experiment, with experiment.yaml and results.json" >&2
		exit 2
	fi
	sed -n 's/^name: *//p' "$1/experiment.yaml" | head -n 1
}

case "${1:-}:$#" in
keep:3)
	name=$(name_of "$2")
	day=${DAY:-$(date -u +%F)} n=1
	folder=$3/$name/$day
	while [ -e "$folder" ]; do n=$((n + 1)) folder=$3/$name/$day-$n; done
	mkdir -p "$3/$name"
	# Whole or not at all.
	rm -rf "$folder.partial"
	cp -R "$2/." "$folder.partial"
	(cd "$folder.partial" && find . -type f ! -name SHA256SUMS -exec sha256sum {} + | sort -k 2 >SHA256SUMS)
	mv "$folder.partial" "$folder"
	echo "$folder"
	;;
verify:2)
	name_of "$2" >/dev/null
	(cd "$2" && sha256sum --quiet -c SHA256SUMS) || exit 3
	again=$(mktemp)
	trap 'rm -f "$again"' EXIT
	"$bin/bg-analyze" compare "$2" >"$again"
	"$bin/bg-analyze" check --baseline "$2/results.json" --within 0 "$again"
	;;
compare:3)
	name=$(name_of "$2")
	"$bin/bg-analyze" check --baseline "$3/$name" --fail-on regression --within "${WITHIN:-0.1}" "$2/results.json"
	;;
*) usage "$@" ;;
esac
