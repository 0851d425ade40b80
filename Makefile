# Every target works from a clean clone with Go, make and git.
# `make check` also wants a C compiler, for the race detector.

GOLANGCI_VERSION := v2.15.0
TOOLS            := $(CURDIR)/.tools
GOLANGCI         := $(TOOLS)/golangci-lint
FUZZTIME         ?= 5s
BENCH            ?= .
BENCHTIME        ?= 1s
BENCHFLAGS       ?=
BENCHED          := ./codec/... ./consumer/... ./gateway/... ./partition/... ./topicd/... ./internal/ydbtopic

# Go stamps revision and dirty mark into the binary (`sqsgate version`).
BUILDFLAGS := -trimpath

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/sqsgate (and bin/sqsload)
	CGO_ENABLED=0 go build $(BUILDFLAGS) -o bin/sqsgate ./cmd/sqsgate
	@if [ -d cmd/sqsload ]; then set -x; CGO_ENABLED=0 go build $(BUILDFLAGS) -o bin/sqsload ./cmd/sqsload; fi

.PHONY: run
run: build ## build and start the gateway with the embedded topic server
	bin/sqsgate serve

.PHONY: test
test: ## unit tests; no C compiler, no network
	CGO_ENABLED=0 go test ./...

.PHONY: check
check: fmt-check lint ## formatting, vet, lint, and all tests under the race detector
	go vet ./...
	go vet -tags e2e ./...
	CGO_ENABLED=1 go test -race ./...

.PHONY: e2e
e2e: build ## tests of the built binary, in every deployment
	SQSGATE_BIN=$(CURDIR)/bin/sqsgate go test -tags e2e -count=1 -timeout 15m ./e2e/...

.PHONY: sim
SIM_FIRST ?= 1
SIM_SEEDS ?= 1000
sim: ## the simulation of the shared consumer over SIM_SEEDS seeds from SIM_FIRST
	CGO_ENABLED=0 go test ./consumer -run '^TestSimulation$$' -sim.first=$(SIM_FIRST) -sim.seeds=$(SIM_SEEDS) -timeout 60m

.PHONY: sdk-suite
sdk-suite: build ## topic tests of ydb-go-sdk against `sqsgate topicd`
	topicd/sdksuite/run.sh

.PHONY: gocloud-suite
gocloud-suite: build ## pubsub conformance tests of gocloud.dev, through its SQS driver, against the built binary
	tests/gocloud/run.sh

.PHONY: npm-suite
npm-suite: build ## @aws-sdk/client-sqs, sqs-consumer and ydb-sdk against the built binary; needs Node 20 and the npm registry
	@if command -v npm >/dev/null; then \
		cd $(CURDIR)/tests/npm && npm install --no-package-lock --silent && SQSGATE_BIN=$(CURDIR)/bin/sqsgate npm test && \
		cd $(CURDIR)/tests/npm/topic && npm install --no-package-lock --silent && SQSGATE_BIN=$(CURDIR)/bin/sqsgate npm test; \
	else \
		echo "npm-suite skipped: there is no npm here"; \
	fi

.PHONY: bench
bench: build ## figures over HTTP (BENCHFLAGS="--repeat=1"), then benchmarks (BENCH=regexp BENCHTIME=1s)
	bin/sqsload bench --server bin/sqsgate $(BENCHFLAGS)
	CGO_ENABLED=0 go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(BENCHED)

.PHONY: bench-consumer
bench-consumer: ## figures of the shared consumer: a step, memory, opening, rates with a backlog; best of three
	CGO_ENABLED=0 go test ./consumer/lease -run '^$$' -bench 'Add|IDs|Life/.*/all' -benchtime 1000000x -count 3
	CGO_ENABLED=0 go test ./consumer -run '^$$' -bench Open -benchtime 3x -count 3
	CGO_ENABLED=0 go test ./consumer -run '^$$' -bench Lives -benchtime 30000x -count 3 -timeout 30m

.PHONY: fuzz-short
fuzz-short: ## every fuzz test for FUZZTIME (5s)
	@set -eu; grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "== $$(dirname "$$file") $$name"; \
			CGO_ENABLED=0 go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname "$$file")" < /dev/null; \
		done; \
	done

.PHONY: gen
gen: ## rewrite generated files (docs/CONFIG.md)
	go generate ./...

.PHONY: fmt
fmt: $(GOLANGCI)-$(GOLANGCI_VERSION) ## format all Go files
	$(GOLANGCI) fmt ./...

.PHONY: fmt-check
fmt-check: $(GOLANGCI)-$(GOLANGCI_VERSION)
	$(GOLANGCI) fmt --diff ./...

.PHONY: lint
lint: $(GOLANGCI)-$(GOLANGCI_VERSION) ## golangci-lint
	$(GOLANGCI) run ./...

# The file beside the linter names the version that is installed.
$(GOLANGCI)-$(GOLANGCI_VERSION):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@rm -f $(GOLANGCI)-v*
	@touch $@

.PHONY: clean
clean: ## remove binaries and tools
	rm -rf bin .tools
