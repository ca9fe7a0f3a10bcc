# plan.tsv (header, then cell arm trial seed dir estimate_s) to rules for make.
BEGIN { FS = "\t" }
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
{
	arm = $column["arm"]; trial = $column["trial"]
	done = out "/" $column["dir"] "/run-metadata.json"
	cells = cells " \\\n\t" done
	rules = rules done ": " out "/inputs/t" trial "/inputs.json | same\n"
	rules = rules "\t@$(CELL) " out " " arm " " trial "\n\n"
}
END { print "CELLS :=" cells "\n\n" rules }
