# plan.tsv (header, then cell arm trial seed dir estimate_s inputs) to rules for make. The
# folder stays $(OUT), so that an experiment can be moved. target is that of the cells.
BEGIN { FS = "\t" }
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
{
	arm = $column["arm"]; trial = $column["trial"]; inputs = $column["inputs"]
	done = "$(OUT)/" $column["dir"] "/run-metadata.json"
	cells = cells " \\\n\t" done
	if (target == "model") {
		if (!(inputs in trials)) { order[++folders] = inputs; trials[inputs] = trial }
		n = ++count[inputs]
		file[inputs, n] = done; name[inputs, n] = arm; estimate[inputs, n] = $column["estimate_s"]
		next
	}
	rules = rules done ": $(OUT)/" inputs "/inputs.json\n"
	rules = rules "\t@$(CELL) $(OUT) " arm " " trial "\n\n"
}
# On the virtual clock one process makes the cells that replay the same inputs, one after
# the other. Where their number is odd, two processes share the last ones, so that two
# cores are busy to the end.
function share(inputs, processes,    p, n, least, took, files, arms) {
	for (n = 1; n <= count[inputs]; n++) {
		least = 1
		for (p = 2; p <= processes; p++) if (took[p] < took[least]) least = p
		took[least] += estimate[inputs, n] + 0.1 # the least that it says, and 0.0 is no time at all
		files[least] = files[least] (files[least] == "" ? "" : " \\\n\t") file[inputs, n]
		arms[least] = arms[least] " --arm " name[inputs, n]
	}
	for (p = 1; p <= processes; p++) if (p in files) {
		rules = rules files[p] " &: $(OUT)/" inputs "/inputs.json\n"
		rules = rules "\t@$(BIN)/bg-load cells $(OUT) --trial " trials[inputs] arms[p] "\n\n"
	}
}
END {
	if (NR < 2) { print "plan.awk: the plan has no cells" >"/dev/stderr"; exit 1 }
	for (i = 1; i <= folders; i++) share(order[i], i == folders && i % 2 ? 2 : 1)
	print "CELLS :=" cells "\n"
	# What a rule has finished stays when one of its later cells fails or is cut.
	if (target == "model") print ".PRECIOUS: $(CELLS)\n"
	print rules
}
