#!/bin/sh
# freeze.sh OUT COMMAND...: writes what COMMAND prints to OUT/experiment.yaml, whole
# or not at all. A folder in which something was measured already must hold just
# that: it belongs to this experiment, in this version. Of two that begin at the same time
# one freezes, and the other must ask for the same.
set -eu
out=$1
shift
text=$("$@") || exit 2
file=$out/experiment.yaml

# holds reports whether the file is what was asked for.
holds() { [ -s "$file" ] && [ "$(cat "$file")" = "$text" ]; }
refuse() {
	echo "freeze.sh: $out holds another experiment than was asked for, or an older version of it" >&2
	echo "hint: choose another folder with OUT=, or remove that one" >&2
	exit 2
}

if holds; then exit 0; fi
if [ -d "$out/cells" ]; then refuse; fi
mkdir -p "$out"
partial=$file.$$
trap 'rm -f "$partial"' EXIT
printf '%s\n' "$text" >"$partial"
if [ -e "$file" ]; then
	mv "$partial" "$file" # nothing was measured under it
elif ! ln "$partial" "$file" 2>/dev/null; then
	# Another one froze it meanwhile, or the file system has no links.
	if [ -e "$file" ]; then holds || refuse; else mv "$partial" "$file"; fi
fi
