# plan.tsv (header, then cell arm trial seed dir estimate_s inputs) to rules for make. The
# folder stays $(OUT), so that an experiment can be moved.
BEGIN { FS = "\t" }
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
{
	arm = $column["arm"]; trial = $column["trial"]
	done = "$(OUT)/" $column["dir"] "/run-metadata.json"
	cells = cells " \\\n\t" done
	rules = rules done ": $(OUT)/" $column["inputs"] "/inputs.json\n"
	rules = rules "\t@$(CELL) $(OUT) " arm " " trial "\n\n"
}
END {
	if (NR < 2) { print "plan.awk: the plan has no cells" >"/dev/stderr"; exit 1 }
	print "CELLS :=" cells "\n\n" rules
}
