# Every target does its own set-up, under .cache/. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help test test-fast test-long bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## all checks, with the race detector and against real Python peers
	@scripts/test full

test-fast: ## what needs no other language: formatting, vet, staticcheck, Go tests
	@scripts/test fast

test-long: ## test with full counts, then each fuzz target for PARLEY_FUZZTIME (60s)
	@scripts/test long

bench: ## comparisons with the Python library, as ratios
	@scripts/bench

clean: ## remove what the other targets installed
	rm -rf .cache
