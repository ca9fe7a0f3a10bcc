#!/bin/sh
# speed.sh OUT SECONDS: how fast the cells in OUT ran on the virtual clock, of a
# pipeline that took so many seconds.
set -eu
out=$1 took=$2
find "$out/cells" -path '*/t[0-9]*/run-metadata.json' ! -path '*.cut*' -exec cat {} + | awk -v took="$took" '
	function number(line) { gsub(/[^0-9.eE+-]/, "", line); return line }
	/"simulated_s":/ { cells++; split($0, part, ":"); simulated += number(part[2]) }
	/"wall_s":/ { split($0, part, ":"); wall += number(part[2]) }
	/"cpu_s":/ { split($0, part, ":"); cpu += number(part[2]) }
	END {
		if (!cells) { print "speed.sh: found no cell that ran on the virtual clock" >"/dev/stderr"; exit 1 }
		printf "%d cells: %.0f simulated seconds in %.1f wall seconds of the cells, %.0f times as fast (%.1f CPU seconds)\n", cells, simulated, wall, simulated / wall, cpu
		printf "the whole pipeline took %d s\n", took
	}'
