# Each target does its own set-up: `make run` or `make test` may be the first command in a fresh clone.
.DEFAULT_GOAL := help
.PHONY: help up run demo fast test deep real check soak mutants coverage bench openapi template recording recording-inside commands scale site screenshots release format hooks lock bundle clean
SHELL := /bin/bash
unexport PYTHONDONTWRITEBYTECODE # or each worker and each program of a test compiles all it imports again

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SITE := .venv-site
WORKERS ?= 3
PYTESTFLAGS ?=
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup $(PYTESTFLAGS)

help: ## show what can be done here
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: $(READY) ## start the service for use on this machine: one process, one file, kept
	@$(BIN)/python -m local.server $(ARGS)

run: $(READY) ## start the whole service on this machine, as on AWS, in memory
	@$(BIN)/python -m local

demo: $(READY) ## run one handoff and explain each step
	@$(BIN)/python -m local.demo

fast: $(READY) ## seconds: domain, use cases, functions and store in memory
	@$(PYTEST) --tier fast

test: $(READY) ## minutes: fast, and every contract, the CLI and one whole handoff on each engine
	@$(PYTEST) --tier test

deep: $(READY) ## all platforms on all engines, faults and kills, deployments, the wheel
	@$(PYTEST) --tier deep

real: $(READY) ## real Claude Code, Codex, Synapse and browser, as far as they are installed
	@$(PYTEST) --tier real

check: $(READY) ## format, lint, types, import rules
	@echo "format";  $(BIN)/ruff format --check --quiet . || { echo "  run: make format"; exit 1; }
	@echo "lint";    $(BIN)/ruff check --quiet .
	@echo "types";   $(BIN)/mypy --no-error-summary
	@echo "imports"; PYTHONPATH=.:cli $(BIN)/lint-imports --no-logo >$(VENV)/imports.log 2>&1 || { cat $(VENV)/imports.log; exit 1; }

soak: $(READY) ## run the long fuzz and simulation tests
	@$(PYTEST) --tier soak

mutants: $(READY) ## apply each fault of tests/mutants to a copy, and see which tests notice it
	@$(BIN)/python -m tests.mutants $(ARGS)

coverage: $(READY) ## run the tests and report which lines they reach
	@$(PYTEST) --tier test --cov --cov-report=term:skip-covered

bench: $(READY) ## measure start-up and handoffs; ARGS=--write renews docs/speed.md
	@PYTHONPATH=.:cli $(BIN)/python -m bench $(ARGS)

scale: $(READY) ## play a day on AWS in virtual time, and renew the tables of docs/scale.md
	@PYTHONPATH=.:cli $(BIN)/python -m bench.scale

openapi: $(READY) ## write docs/openapi.json from the routes
	@PYTHONPATH=.:cli $(BIN)/python -m docs.openapi

commands: $(READY) ## write docs/commands.md from the parser of the command line
	@PYTHONPATH=.:cli $(BIN)/python -m docs.site.commands

site: $(READY) $(SITE)/.ready ## build the site into .site/html; a warning is a failure
	@$(BIN)/python -m docs.site

screenshots: $(READY) ## run the service and photograph its chats for the site, with Chromium
	@PYTHONPATH=.:cli $(BIN)/python -m docs.site.screenshots

release: $(READY) ## build the distribution into dist/, check and use it; uploads nothing
	@PYTHONPATH=.:cli $(BIN)/python -m tests.release

template: $(READY) ## write template.yaml as CloudFormation, for handoff deploy
	@$(BIN)/python -m local.operate.translate

recording-inside: $(READY) ## type /handoff in the real agents and draw docs/inside-*.svg
	@$(BIN)/python -m docs.recording.inside

recording: $(READY) ## play a handoff and draw docs/handoff.svg
	@$(BIN)/python -m docs.recording

format: $(READY) ## format and sort the code
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --quiet --fix .

hooks: $(READY) ## check format, lint and import rules before each commit
	@$(BIN)/pre-commit install

# Pinned with hashes and without the address of an index, so that any index will do.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock"
lock: $(READY) ## compile the pinned requirements from pyproject.toml
	@$(LOCK) --group functions -o requirements.txt
	@$(LOCK) --group dev -o requirements-dev.txt
	@$(LOCK) tests/real_synapse/requirements.in -o tests/real_synapse/requirements.txt
	@$(LOCK) docs/site/requirements.in -o docs/site/requirements.txt
	@$(LOCK) --constraint requirements-dev.txt --extra server pyproject.toml -o requirements-server.txt

bundle: $(READY) ## build the artefact of all functions into .build/
	@$(BIN)/python -m local.operate.deploy.bundle

clean: ## remove everything that the other targets made
	@rm -rf .venv .venv-site .venv313 .build .local .site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage

# `venv --clear` follows a link and empties the environment behind it, which other checkouts may use.
# Debian may lack python3-venv: a venv without pip, filled by the pip that is there, does not need it.
$(READY): requirements-dev.txt
	@[ ! -L $(VENV) ] || { echo "$(VENV) is a link and older than requirements-dev.txt. Nothing was changed: set it up where it points, or remove the link"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Handoff needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { echo "The set-up needs pip, and $(PYTHON) has none. On Debian: apt install python3-pip"; exit 1; }
	@echo "Setting up $(VENV): $$(grep -c '==' requirements-dev.txt) packages, once, about a minute ..."
	@$(PYTHON) -m venv --without-pip --clear $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python install -qq --disable-pip-version-check --no-deps --require-hashes -r requirements-dev.txt
	@touch $@
	@echo "Done."

# In an environment for itself: nothing that the product runs needs it.
$(SITE)/.ready: docs/site/requirements.txt
	@echo "Setting up $(SITE) ..."
	@$(PYTHON) -m venv --without-pip --clear $(SITE)
	@$(PYTHON) -m pip --python $(SITE)/bin/python install -qq --disable-pip-version-check --no-deps --require-hashes -r docs/site/requirements.txt
	@touch $@
