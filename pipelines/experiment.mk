# One experiment: inputs, cells, results and report below $(OUT).
#
#   make -f pipelines/experiment.mk EXPERIMENT=batch-gateway-ci
#   make -f pipelines/experiment.mk EXPERIMENT=my.yaml OUT=/data/my-run
#   make -f pipelines/experiment.mk EXPERIMENT=batch-gateway-ci SETS='target=model trials=1' OUT=results/quick
#
# Every step is a file made by one tool, so a run that was cut goes on where it
# stopped. `make -n` shows what is left.

EXPERIMENT ?= batch-gateway-ci
OUT        ?= results/$(basename $(notdir $(EXPERIMENT)))
SETS       ?=
BIN        ?= bin
ASKED      := $(BIN)/bg-gen experiments $(EXPERIMENT) $(SETS:%=--set %)
CELL       := pipelines/cell.sh

.DELETE_ON_ERROR:
.PHONY: all same
.DEFAULT_GOAL := all

all: $(OUT)/report.html $(OUT)/report.md
	@echo "done: $(OUT)/report.html" >&2

# The folder must not hold another experiment, nor another version of this one.
same: | $(OUT)/experiment.yaml
	@$(ASKED) | cmp -s - $(OUT)/experiment.yaml || { \
		echo "make: $(OUT) holds another experiment than $(EXPERIMENT), or an older version of it" >&2; \
		echo "hint: choose another folder with OUT=, or remove that one" >&2; exit 2; }

$(OUT)/experiment.yaml: | $(BIN)/bg-gen
	@mkdir -p $(@D)
	@$(ASKED) > $@

$(OUT)/plan.tsv: $(OUT)/experiment.yaml
	@$(BIN)/bg-gen plan $< > $@

# plan.mk says the same as plan.tsv in make's words: CELLS in run order, a rule a cell.
$(OUT)/plan.mk: $(OUT)/plan.tsv pipelines/plan.awk
	@awk -f pipelines/plan.awk -v out=$(OUT) $< > $@

include $(OUT)/plan.mk

$(OUT)/inputs/%/inputs.json: $(OUT)/experiment.yaml
	@$(BIN)/bg-gen inputs --experiment $< --trial $(subst t,,$*) -o $(@D)

$(OUT)/results.json: $(CELLS)
	$(BIN)/bg-analyze compare $(OUT) -o $@ --summary $(OUT)/summary.parquet

$(OUT)/report.html: $(OUT)/results.json
	$(BIN)/bg-report html $< -o $@

$(OUT)/report.md: $(OUT)/results.json
	$(BIN)/bg-report md $< -o $@

$(BIN)/bg-gen:
	@go build -o $@ ./cmd/bg-gen

# Cells share the machine's clock and cores: only on the virtual clock may two run
# at the same time.
TARGET := $(shell awk '/^target:/ { print $$2 }' $(OUT)/experiment.yaml 2>/dev/null)
ifneq ($(TARGET),model)
.NOTPARALLEL:
endif
