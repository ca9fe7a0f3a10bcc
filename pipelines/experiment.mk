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
CELL       := pipelines/cell.sh

# What becomes the name of a file or a word of a recipe must be one plain word: make ends a
# name at a space, and the shell runs what follows a semicolon. A value from the command
# line or the environment is looked at before make expands anything in it.
special := ! " \# $$ % & ' ( ) * : ; < = > ? [ \ ] ^ ` { | } ~
given    = $(if $(filter file,$(origin $(1))),$($(1)),$(value $(1)))
odd      = $(strip $(foreach c,$(special),$(findstring $(c),$(1))) $(and $(word 2,$(1)),space))
plain    = $(if $(filter-out 1,$(words $(1)))$(call odd,$(1)),$(error $(2): found "$(1)", expected one path without spaces and without any of $(special)))
$(foreach name,EXPERIMENT OUT BIN,$(call plain,$(call given,$(name)),$(name)))

ASKED := $(BIN)/bg-gen experiments $(EXPERIMENT) $(foreach set,$(SETS),--set '$(subst ','\'',$(set))')

.DELETE_ON_ERROR:
.PHONY: all
.DEFAULT_GOAL := all

all: $(OUT)/report.html $(OUT)/report.md
	@rm -f $(OUT)/pid
	@echo "done: $(OUT)/report.html" >&2

# What was asked for is frozen before anything is measured, and checked ever after, and the
# folder is this make's until it ends. That happens while make reads this file: what is wrong
# with it is then the last that is said.
define newline


endef
refused := $(shell test -x $(BIN)/bg-gen || go build -o $(BIN)/bg-gen ./cmd/bg-gen || { echo "building $(BIN)/bg-gen failed"; exit; }; \
	said=$$(pipelines/freeze.sh $(OUT) $(if $(findstring n,$(firstword -$(MAKEFLAGS))),0,$$PPID) $(ASKED) 2>&1) || printf '%s' "$$said" | tr '\n' '\036')
ifneq ($(refused),)
$(error $(subst $(shell printf '\036'),$(newline),$(refused)))
endif

$(OUT)/plan.tsv: $(OUT)/experiment.yaml pipelines/plan.awk
	@$(BIN)/bg-gen plan $< > $@.$$$$ && mv $@.$$$$ $@ || { rm -f $@.$$$$; exit 1; }

# plan.mk says the same as plan.tsv in make's words: CELLS in run order, a rule a cell.
# On target model, where a process makes many cells, it is a rule a process.
TARGET := $(shell awk '/^target:/ { print $$2 }' $(OUT)/experiment.yaml)
$(OUT)/plan.mk: $(OUT)/plan.tsv pipelines/plan.awk
	@awk -v target=$(TARGET) -f pipelines/plan.awk $< > $@.$$$$ && mv $@.$$$$ $@ || { rm -f $@.$$$$; exit 1; }

include $(OUT)/plan.mk

# Texts, lengths, traces and the tokenizer that inputs are drawn from. Inputs that were drawn
# from other content than such a file has now are refused, not drawn anew: cells replayed them.
SOURCES := $(wildcard $(shell awk '$$1 == "file:" || $$1 == "tokenizer:" { gsub(/["'\'']/, "", $$2); print $$2 }' $(OUT)/experiment.yaml))

# The folder of a trial is tK, or POINT/tK where a key of the profile is swept.
$(OUT)/inputs/%/inputs.json: $(OUT)/experiment.yaml $(SOURCES)
	@$(BIN)/bg-gen inputs --experiment $< --trial $(patsubst t%,%,$(notdir $*)) $(patsubst %/,--point %,$(filter-out ./,$(dir $*))) -o $(@D)

$(OUT)/results.json: $(CELLS)
	$(BIN)/bg-analyze compare $(OUT) -o $@ --summary $(OUT)/summary.parquet

$(OUT)/report.html: $(OUT)/results.json
	$(BIN)/bg-report html $< -o $@

$(OUT)/report.md: $(OUT)/results.json
	$(BIN)/bg-report md $< -o $@

# Cells share the machine's clock and cores: only on the virtual clock may two run
# at the same time.
ifneq ($(TARGET),model)
.NOTPARALLEL:
endif
