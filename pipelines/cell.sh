#!/bin/sh
# cell.sh OUT ARM TRIAL: runs one cell of the experiment in OUT.
#
# The stack lives as long as the scraper, the scraper as long as the load. The cell's
# folder appears only when it is whole; one that was cut is kept beside it as tK.cut,
# where `bg-load recover` makes what was measured readable. On target model nothing
# lives, and bg-load cells does all of this for many cells.
set -eu
out=$1 arm=$2 trial=$3
bin=${BIN:-bin}
cell=$out/cells/$arm/t$trial
work=$cell.partial

# Progress: which cell of how many, and about how long the missing ones take.
found=$(awk -F '\t' -v out="$out" -v arm="$arm" -v trial="$trial" '
	/^target: / && FILENAME ~ /yaml$/ { target = substr($0, 9) }
	FILENAME ~ /yaml$/ { next }
	FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{
		total++
		if ($column["arm"] == arm && $column["trial"] == trial) { place = total; inputs = $column["inputs"] }
		done = out "/" $column["dir"] "/run-metadata.json"
		if ((getline line < done) < 0) left += $column["estimate_s"]
		close(done)
	}
	END {
		print target, inputs
		text = sprintf("cell %d of %d: %s trial %d", place, total, arm, trial)
		if (left >= 1) text = text sprintf(", about %d min %02d s left", left / 60, left % 60)
		print text >"/dev/stderr"
	}' "$out/experiment.yaml" "$out/plan.tsv")
target=${found%% *} inputs=$out/${found#* }

# A folder that another cell.sh still writes to is not ours to move.
claim() {
	if ! other=$("$(dirname "$0")/claim.sh" "$work/pid" $$); then
		echo "cell.sh: $work is being written by process ${other:-?}" >&2
		echo "hint: wait for it, or end it" >&2
		exit 1
	fi
}
if [ -e "$work" ]; then claim; fi
# keep renames what somebody left to a name beside the cell that is free.
keep() {
	cut=$cell.cut n=1
	while [ -e "$cut" ]; do n=$((n + 1)) cut=$cell.cut$n; done
	mv "$1" "$cut"
	echo "cell.sh: what an earlier run measured is kept in $cut" >&2
}
if [ -e "$work" ]; then keep "$work"; fi
mkdir -p "$work"
claim

if [ "$target" = kube ]; then
	# On a cluster the load comes from inside it: scraper and generator run in a Job.
	"$bin/bg-deploy" exec --experiment "$out/experiment.yaml" --arm "$arm" --trial "$trial" -o "$work/stack.json" -- \
		"$bin/bg-deploy" load --stack "$work/stack.json" --trial "$trial" --inputs "$inputs" -o "$work"
else
	"$bin/bg-deploy" exec --experiment "$out/experiment.yaml" --arm "$arm" --trial "$trial" -o "$work/stack.json" -- \
		"$bin/bg-scrape" run --stack "$work/stack.json" --trial "$trial" -o "$work/metrics.parquet" -- \
		"$bin/bg-load" run --stack "$work/stack.json" --inputs "$inputs" -o "$work"
fi

rm -f "$work/pid"
if [ -e "$cell" ]; then keep "$cell"; fi
mv "$work" "$cell"
