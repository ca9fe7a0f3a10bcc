#!/bin/sh
# freeze.sh OUT PROCESS COMMAND...: writes what COMMAND prints to OUT/experiment.yaml, whole
# or not at all. A folder in which something was measured already must hold just
# that: it belongs to this experiment, in this version. From here OUT is PROCESS's, until it
# ends: another one is refused. Where PROCESS is 0 (make -n) nobody gets the folder.
set -eu
out=$1 process=$2
shift 2
text=$("$@") || exit 2
file=$out/experiment.yaml

# holds reports whether the file is what was asked for.
holds() { [ -s "$file" ] && [ "$(cat "$file")" = "$text" ]; }
if [ -d "$out/cells" ] && ! holds; then
	echo "freeze.sh: $out holds another experiment than was asked for, or an older version of it" >&2
	echo "hint: choose another folder with OUT=, or remove that one" >&2
	exit 2
fi
mkdir -p "$out"
if [ "$process" != 0 ] && ! other=$("$(dirname "$0")/claim.sh" "$out/pid" "$process"); then
	echo "freeze.sh: $out is being written by process ${other:-?}, another run of make" >&2
	echo "hint: wait for it, end it, or choose another folder with OUT=" >&2
	exit 1
fi
if holds; then exit 0; fi
partial=$file.$$
trap 'rm -f "$partial"' EXIT
printf '%s\n' "$text" >"$partial"
mv "$partial" "$file" # nothing was measured under it
