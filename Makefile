# bgbench: build, test and run. `make help` lists the targets.

TOOLS := bg-gen bg-deploy bg-load bg-scrape bg-analyze bg-report
RUN   := $(MAKE) --no-print-directory -f pipelines/experiment.mk

# A value from the command line or the environment as one word of the shell, whatever is in it.
quoted = '$(subst ','\'',$(value $(1)))'

.DELETE_ON_ERROR:
.PHONY: notebooks help build man test test-browser race lint bench bench-rows endurance fuzz npm benchmark-local benchmark-model agreement published clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: $(TOOLS:%=bin/%) ## build the six tools into bin/

bin/%: FORCE
	@go build -o $@ ./cmd/$*

benchmark-local: build ## run batch-gateway-ci on an emulated stack over real sockets (some 13 minutes)
	+@$(RUN) EXPERIMENT=batch-gateway-ci

benchmark-model: build ## run batch-gateway on the model's virtual clock (about a minute)
	+@start=$$(date +%s) && $(RUN) -j2 EXPERIMENT=batch-gateway && pipelines/speed.sh results/batch-gateway $$(($$(date +%s) - start))

benchmark-kube-local: build ## run batch-gateway-ci on a Kubernetes of this machine's own, with emulated components in pods (root; some 40 minutes)
	+pkg/deploy/kubetest/with-cluster.sh $(RUN) EXPERIMENT=batch-gateway-ci SETS=target=kube OUT=results/batch-gateway-kube

# A cluster that is there already: which one, what its namespaces begin with, and what
# bg-deploy up has flags for, as BG_ variables (BG_STORAGE_CLASS, BG_REVISION, ...).
KUBE_CONTEXT     ?= kind-kind
NAMESPACE_PREFIX ?= bgbench
KUBE             := +@BG_CONTEXT=$(call quoted,KUBE_CONTEXT) BG_NAMESPACE_PREFIX=$(call quoted,NAMESPACE_PREFIX)
benchmark-kind: build ## run batch-gateway-ci on a cluster without GPUs, inference-sim in the place of vLLM: KUBE_CONTEXT, NAMESPACE_PREFIX
	$(KUBE) BG_MODE=sim $(RUN) EXPERIMENT=batch-gateway-ci SETS=target=kube OUT=results/batch-gateway-kind

benchmark-gpu: build ## run batch-gateway on a cluster with GPUs, the real stack: KUBE_CONTEXT, NAMESPACE_PREFIX, BG_REVISION
	$(KUBE) BG_MODE=gpu $(RUN) EXPERIMENT=batch-gateway SETS=target=kube OUT=results/batch-gateway-gpu

# Where packages of a system have them: $(PREFIX)/share.
PREFIX ?= bin
man: build ## write manual pages and completions for bash, zsh and fish below PREFIX/share
	@set -e; prefix=$(call quoted,PREFIX); share=$$prefix/share; \
	mkdir -p "$$share/man/man1" "$$share/bash-completion/completions" "$$share/zsh/site-functions" "$$share/fish/vendor_completions.d"; \
	for tool in $(TOOLS); do \
		bin/$$tool man > "$$share/man/man1/$$tool.1"; \
		bin/$$tool completion bash > "$$share/bash-completion/completions/$$tool"; \
		bin/$$tool completion zsh > "$$share/zsh/site-functions/_$$tool"; \
		bin/$$tool completion fish > "$$share/fish/vendor_completions.d/$$tool.fish"; \
	done

IMAGE ?= localhost/bgbench:dev
image: ## build the image of our own tools with docker, for load from inside a cluster: IMAGE
	docker build -t $(call quoted,IMAGE) .

WITHIN ?= 0.05
agreement: build ## compare the model's two clocks on one arm of each kind (some 8 minutes on a quiet machine)
	+@$(RUN) EXPERIMENT=agreement SETS=target=model OUT=results/agreement-model
	+@$(RUN) EXPERIMENT=agreement SETS=target=local OUT=results/agreement-local
	bin/bg-analyze check --baseline results/agreement-model/results.json --within $(call quoted,WITHIN) results/agreement-local/results.json

# What the table in docs/model.md is made of. UPDATE=1 writes it.
PUBLISHED := holdback reserve-sweep eviction-isolation eviction eviction-long-prompts kv-bound batch-gateway upstream-values
published: build ## hold the model against published runs (some minutes)
	+@for experiment in $(PUBLISHED); do $(RUN) -j2 EXPERIMENT=$$experiment || exit 1; done
	go test -tags published -count=1 ./pipelines $(if $(UPDATE),-update)

test: npm ## run the tests
	go test ./...

race: ## run the tests of everything concurrent under the race detector
	go test -race ./pkg/cli ./pkg/deploy/... ./pkg/http1 ./pkg/load/... ./pkg/openai/... ./pkg/record/... ./pkg/scrape/... ./pkg/sim/kernel ./pkg/sim/serve/...

test-kube: build ## run the tests of target kube on a Kubernetes that is built here (root; the first time some 13 minutes more)
	CGO_ENABLED=0 go test -tags kube -c -o bin/kube.test ./pkg/deploy/kube
	cd pkg/deploy/kube && BG_TEST_TOOLS=$(CURDIR)/bin ../kubetest/with-cluster.sh ../../../bin/kube.test -test.v -test.parallel 3 -test.timeout 80m

NOTEBOOK_RUN ?= results/batch-gateway
notebooks: npm ## execute the notebooks on the experiment in NOTEBOOK_RUN, outputs beside its results
	pipelines/notebooks/run.sh $(call quoted,NOTEBOOK_RUN) $(call quoted,NOTEBOOK_RUN)/notebooks

test-browser: ## open a report in headless Chromium (which must be installed); pictures in bin/screenshots
	BG_SCREENSHOTS=$${BG_SCREENSHOTS:-$(CURDIR)/bin/screenshots} go test -tags browser -count=1 ./pkg/report/...

lint: ## gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l cmd docs pipelines pkg)" || { gofmt -l cmd docs pipelines pkg; echo 'lint: the files above are not formatted: gofmt -w them' >&2; exit 1; }
	go vet ./...
	go vet -tags kube ./pkg/deploy/kube
	go tool staticcheck ./...

bench: ## run the Go benchmarks
	go test -run '^$$' -bench . -benchmem ./...

endurance: ## play as many requests as a day has, and watch the heap (some 8 minutes)
	BG_BENCH_DAY=1 go test -run '^$$' -bench Endurance -benchtime 1x -timeout 1h ./pkg/load

ROWS ?= 1000000
bench-rows: npm ## summarize ROWS requests of 50 gaps, and hold time and memory against DuckDB
	go test -tags scale -count=1 -timeout 1h -v -run ManyRows ./pkg/analysis -rows $(call quoted,ROWS)

fuzz: ## fuzz every parser for some seconds each
	@grep -rl --include='*_test.go' '^func Fuzz' pkg cmd | sort | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			echo "$$(dirname "$$file") $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime 10s "./$$(dirname "$$file")" || exit 1; \
		done; \
	done

# DuckDB reads our Parquet files in a test. Without npm that test says so and skips.
npm: pkg/record/testdata/duckdb/node_modules/.package-lock.json

pkg/record/testdata/duckdb/node_modules/.package-lock.json: pkg/record/testdata/duckdb/package-lock.json
	@if command -v npm >/dev/null; then npm ci --silent --no-audit --no-fund --prefix pkg/record/testdata/duckdb; \
	else echo 'make: npm is not installed: the test that reads Parquet with DuckDB will be skipped' >&2; fi

clean: ## remove what was built (results stay)
	rm -rf bin pkg/record/testdata/duckdb/node_modules

FORCE:
