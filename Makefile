# Every target sets up what it needs on a bare machine; the second time there is nothing to set up.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
VLLM := src/otel_attrib/demo/install_vllm.sh

.PHONY: help init vllm demo test lint types fix docs bench prove prove-quick prove-real serve lock

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

init: ## .venv from requirements.lock
	@scripts/init.sh

vllm: ## vLLM for the CPU in an environment of its own (exit 3: this machine cannot run it)
	@bash $(VLLM)

demo: init ## a real vLLM, two real faults, the answer; from the recording with ARGS=--replay
	@$(BIN)/otel-attrib demo $(ARGS)

test: init ## all tests, the real vLLM among them; ARGS goes to pytest
	@bash $(VLLM) || test $$? = 3
	@bash scripts/ebpf.sh
	@bash scripts/services.sh
	@OTEL_ATTRIB_TEST_VLLM=1 $(BIN)/python -m pytest $(ARGS)

lint: init ## ruff
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: init ## mypy --strict
	@$(BIN)/mypy

fix: init ## let ruff mend what it can
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

docs: init ## write the generated reference pages anew
	@for page in attributes:schema.attributes_page settings:config commands:commands.page counters:collector.counters_page evidence:schema.evidence_page context:schema.context_page scenarios:fleet.page panels:dashboards.panels_page; do \
	    $(BIN)/python -m otel_attrib.$${page#*:} >docs/reference/$${page%:*}.md || exit 1; \
	done

bench: init ## every benchmark beside its peers; the figures go to build/bench
	@scripts/bench.sh

prove: init ## attribution beside its peers, 20 seeds: docs/proof.md
	@$(BIN)/python -m benchmarks.attribution.prove $(ARGS)

prove-quick: init ## the same on 2 seeds: build/attribution/docs
	@$(BIN)/python -m benchmarks.attribution.prove --quick --docs build/attribution/docs $(ARGS)

prove-real: init ## real faults on a real vLLM, twice; as root
	@bash $(VLLM)
	@$(BIN)/python benchmarks/attribution/real/run.py --json build/bench/real.json $(ARGS)

serve: init ## receiver, store and query API on loopback
	@$(BIN)/otel-attrib up $(ARGS)

lock: init ## requirements.lock anew from pyproject.toml
	@scripts/lock.sh
