#!/bin/sh
# freeze.sh OUT COMMAND...: writes what COMMAND prints to OUT/experiment.yaml, whole
# or not at all. A folder in which something was measured already must hold just
# that: it belongs to this experiment, in this version.
set -eu
out=$1
shift
text=$("$@") || exit 2
file=$out/experiment.yaml
if [ -s "$file" ] && [ "$(cat "$file")" = "$text" ]; then
	exit 0
fi
if [ -d "$out/cells" ]; then
	echo "freeze.sh: $out holds another experiment than was asked for, or an older version of it" >&2
	echo "hint: choose another folder with OUT=, or remove that one" >&2
	exit 2
fi
mkdir -p "$out"
printf '%s\n' "$text" >"$file.partial"
mv "$file.partial" "$file"
