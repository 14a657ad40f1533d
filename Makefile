.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint lock diagrams bench sim chaos clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: .venv/ready ## the product in a terminal; needs nothing but Python
	@.venv/bin/seatwarden demo

test: .venv/ready ## everything that CI checks
	@echo "== Tools for some tests: RabbitMQ, Graphviz, Node.js, promtool"
	@tests/setup.sh
	@$(MAKE) --no-print-directory lint
	@echo "== Tests"
	@.venv/bin/pytest

lint: .venv/ready ## style, types, who may import whom, diagrams that match the chart
	@echo "== Style"
	@.venv/bin/ruff check
	@.venv/bin/ruff format --check
	@echo "== Types"
	@.venv/bin/mypy
	@echo "== Imports"
	@.venv/bin/lint-imports --no-logo
	@echo "== Diagrams"
	@.venv/bin/seatwarden diagram --check

lock: .venv/ready ## requirements.lock with the newest releases that pyproject.toml allows
	@echo "== Writing requirements.lock"
	@.venv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--all-extras --group dev --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

diagrams: .venv/ready ## draw the diagrams anew from the chart
	@.venv/bin/seatwarden diagram --write

bench: .venv/ready ## measure
	@.venv/bin/python -m tests.bench

sim: .venv/ready ## many more simulated runs than CI has time for; SEEDS=n, FROM=n
	@.venv/bin/python -m tests.simulation --seeds $(or $(SEEDS),20000) --from $(or $(FROM),100000)

chaos: .venv/ready ## the long disturbances, measured: half an hour
	@.venv/bin/python -m tests.chaos scenes
	@.venv/bin/python -m tests.chaos outages
	@.venv/bin/python -m tests.chaos takeover
	@.venv/bin/python -m tests.chaos restore

clean: ## remove the environment and all caches
	@echo "== Removing .venv and caches"
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	@find actors statecharts tests -name __pycache__ -prune -exec rm -rf {} +

# Two stamps: a changed lock makes the environment anew, a changed pyproject.toml only installs the
# project again. pip looks at the environment last, because --no-deps hides an outdated lock.
.venv/locked: requirements.lock
	@echo "== Making .venv from requirements.lock"
	@.ci/venv.sh
	@touch $@

.venv/ready: .venv/locked pyproject.toml
	@echo "== Installing seatwarden into .venv"
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@.venv/bin/pip check --quiet
	@touch $@
