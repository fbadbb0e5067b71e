# Each target does its own set-up: `make run` or `make test` may be the first command in a fresh clone.
.DEFAULT_GOAL := help
.PHONY: help run demo test check soak bench openapi recording format lock bundle clean
SHELL := /bin/bash

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
WORKERS ?= 2

help: ## show what can be done here
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY) ## start the whole service on this machine
	@$(BIN)/python -m local

demo: $(READY) ## hand one session over, telling each step
	@$(BIN)/python -m local.demo

test: $(READY) ## run the tests
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not soak"

check: $(READY) ## format, lint, types, import rules, template, tests
	@echo "format";  $(BIN)/ruff format --check --quiet . || { echo "  run: make format"; exit 1; }
	@echo "lint";    $(BIN)/ruff check --quiet .
	@echo "types";   $(BIN)/mypy --no-error-summary
	@echo "imports"; PYTHONPATH=.:cli $(BIN)/lint-imports --no-logo >.venv/imports.log 2>&1 || { cat .venv/imports.log; exit 1; }
	@$(MAKE) --no-print-directory test

soak: $(READY) ## the long fuzz and simulation runs
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m soak

bench: $(READY) ## measure, as ratios of one run
	@$(BIN)/python -m bench

openapi: $(READY) ## write docs/openapi.json from the routes
	@PYTHONPATH=.:cli $(BIN)/python -m docs.openapi

recording: $(READY) ## play a handoff and draw it anew: docs/handoff.svg
	@$(BIN)/python -m docs.recording

format: $(READY) ## format and sort the code
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --quiet --fix .

# Hash-pinned and without a registry's address, so that any index will do.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock"
lock: $(READY) ## compile the pinned requirements from pyproject.toml
	@$(LOCK) --group functions -o requirements.txt
	@$(LOCK) --group dev -o requirements-dev.txt

bundle: $(READY) ## build the one artefact of all functions into .build/
	@$(BIN)/python -m local.operate.bundle

clean: ## remove everything that the other targets made
	@rm -rf .venv .build .local .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# pip's hundreds of lines as a few: how far it is, and all that it says from its first error on.
define TELL
{ n=0; all=$$(grep -c '==' requirements-dev.txt); while IFS= read -r line; do case "$$failed$$line" in \
    ERROR:*) failed=ERROR:; echo "$$line" ;; \
    Ignoring*) n=$$((n + 1)) ;; \
    Collecting*) n=$$((n + 1)); [ $$((n % 15)) -ne 0 ] || echo "  $$n of $$all packages found" ;; \
    Installing*) echo "  installing them" ;; \
    'WARNING: Retrying'*) echo "$$line" ;; \
    ' '*|Downloading*|Looking*|Processing*|Requirement*|Successfully*|Using*|WARNING:*) ;; \
    *) echo "$$line" ;; \
  esac; done; }
endef

# python3-venv may be missing (Debian splits it off): a venv without pip, filled by the pip that is there, needs neither.
$(READY): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Handoff needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { echo "The set-up needs pip, and $(PYTHON) has none. On Debian: apt install python3-pip"; exit 1; }
	@echo "Setting up .venv (about a minute, once) ..."
	@$(PYTHON) -m venv --without-pip --clear .venv
	@$(PYTHON) -m pip --python $(BIN)/python install --progress-bar off --disable-pip-version-check --no-deps --require-hashes -r requirements-dev.txt 2>&1 | $(TELL); exit $${PIPESTATUS[0]}
	@touch $@
	@echo "Set up."
