# What bg-analyze arms prints of a sweep over reserves, as an answer: for each load the
# smallest reserve whose interactive TTFT p95 is shown to stay within the margin.
BEGIN {
	FS = "\t"
	ttft = "steady/interactive/ttft/p95"; itl = "steady/interactive/itl/p95"; batch = "all/batch/requests_per_s/value"
}
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
$column["baseline"] == "true" { next }
{
	load = $column["point"]
	rate = $column["profile.interactive.phases.steady.rate"]
	tokens = $column["profile.prompt.osl.mean"]
	ceiling = $column["router.holdback.minCeiling"]
	reserve = sprintf("%.6g", 100 * (1 - ceiling)) # as a key of an array
	done = $column[batch " median"]
	ratio = $column[ttft " ratio"]
	verdict = $column[ttft " verdict"]
	if (!(load in rates)) { loads[++count] = load; rates[load] = rate; lengths[load] = tokens }
	if (!(reserve in known)) { known[reserve] = 1; reserves[++tested] = reserve }
	invalid += $column["invalid"]
	ratios[load, reserve] = ratio
	verdicts[load, reserve] = verdict
	gaps[load, reserve] = $column[itl " ratio"]
	work[load, reserve] = done
}
# cost is what a reserve takes from batch work, of what it gets without one.
function cost(load, reserve) {
	if (work[load, reserve] == "" || work[load, "0"] + 0 <= 0) return "unknown"
	change = 100 * (work[load, reserve] / work[load, "0"] - 1)
	return sprintf("%+.0f %%", change > -0.5 && change < 0.5 ? 0 : change)
}
function times(ratio) { return ratio == "" ? "-" : sprintf("x%.2f", ratio) }
function line(load, what, reserve) {
	printf "%8s  %8s  %-20s  %-8s  %-7s  %9s  %s\n", rates[load], lengths[load], what, times(ratios[load, reserve]),
		times(gaps[load, reserve]), work[load, reserve] == "" ? "-" : sprintf("%.2f", work[load, reserve]), cost(load, reserve)
}
END {
	if (!count) { print "plan-reserve.awk: found no arm with a reserve" >"/dev/stderr"; exit 1 }
	for (i = 2; i <= tested; i++) # smallest reserve first
		for (j = i; j > 1 && reserves[j] + 0 < reserves[j - 1] + 0; j--) { swap = reserves[j]; reserves[j] = reserves[j - 1]; reserves[j - 1] = swap }
	printf "%8s  %8s  %-20s  %-8s  %-7s  %9s  %s\n", "rate", "output", "smallest reserve", "TTFT p95", "ITL p95", "batch", "cost to"
	printf "%8s  %8s  %-20s  %-8s  %-7s  %9s  %s\n", "req/s", "tokens", "shown to protect", "(ratio)", "(ratio)", "req/s", "batch"
	largest = 0; open = 0
	for (l = 1; l <= count; l++) {
		load = loads[l]; found = ""; near = ""
		for (i = 1; i <= tested; i++) {
			r = reserves[i]
			if (found == "" && verdicts[load, r] == "protected") found = r
			if (near == "" && ratios[load, r] != "" && ratios[load, r] + 0 <= 1 + margin) near = r
		}
		if (found != "") {
			line(load, found + 0 == 0 ? "none needed" : found " %", found)
			if (found + 0 > largest) largest = found + 0
			if (near + 0 < found + 0) { notes++; note[notes] = sprintf("At %s req/s of %s tokens a reserve of %s %% lies within the margin by its ratio (%s), which is not shown: more trials may show it.", rates[load], lengths[load], near, times(ratios[load, near])) }
		} else {
			open++
			r = near != "" ? near : reserves[tested]
			line(load, near != "" ? near " % by ratio only" : "none of those tested", r)
		}
	}
	print ""
	if (open == 0)
		printf "A reserve of %s %% is the smallest of those tested that is shown to keep interactive TTFT p95 within %g %% at all %d loads.\n", largest, 100 * margin, count
	else
		printf "No reserve of those tested is shown to keep interactive TTFT p95 within %g %% at %d of %d loads.\n", 100 * margin, open, count
	print "ITL p95 has no part in it: a reserve leaves free places, and those that batch work holds slow every token."
	for (i = 1; i <= notes; i++) print note[i]
	if (invalid) printf "%d cells are INVALID and left out: see the report.\n", invalid
}
