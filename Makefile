# `make` lists the targets.  PYTHON picks the interpreter the environment is made from, VENV where it lives.
# Pip's own configuration (PIP_* variables, pip.conf) is used as it is.

PYTHON ?= python3
VENV ?= .venv
# Same verdict every time; `pytest` called by hand explores with a fresh seed instead.
HYPOTHESIS_PROFILE ?= ci
export HYPOTHESIS_PROFILE

BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable
# One stamp per set of installed extras: written when its installation has ended well.
BASE := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PEERS := $(VENV)/.installed-peers
BROWSER := $(VENV)/.found-browser

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench study release-test clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(BASE) ## the product in a minute: write, crash, reopen, look inside, query in Spark
	@$(BIN)/lsm demo

test: lint $(BROWSER) ## ruff, mypy and all tests but the slow ones
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: $(DEV) ## ruff and mypy
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

bench: $(PEERS) ## this store beside RocksDB, LevelDB, LMDB and SQLite on this machine
	$(BIN)/python -m bench compare

study: $(PEERS) ## the study of docs/amplification.md: results, a page and pictures in study/
	@LSM=$(BIN)/lsm PYTHON=$(BIN)/python OUT=study examples/study/study.sh

release-test: HYPOTHESIS_PROFILE = release
release-test: $(DEV) ## the slow tests that a release needs
	$(BIN)/python -m pytest -m slow -n 2 --dist loadgroup

clean: ## remove the environment, caches and build output
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Python 3.11 or newer is needed, this is %d.%d; try: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(BASE): $(VENV)/.created pyproject.toml
	$(INSTALL) '.[spark]'
	@touch $@

$(DEV): $(VENV)/.created pyproject.toml
	$(INSTALL) '.[dev]'
	@touch $@ $(BASE)

$(PEERS): $(VENV)/.created pyproject.toml
	$(INSTALL) '.[peers,spark]'
	@touch $@ $(BASE)

# The pages of the bench are tested in a real browser: one that is there is used, else Debian's is installed.
# Without either the tests are skipped, which CI takes for a failure, and the next `make test` looks again.
$(BROWSER): $(VENV)/.created
	@if ! $(BIN)/python tests/browser/find.py; then \
		if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root='sudo -n env'; fi; \
		$$as_root apt-get update --quiet=2 && $$as_root DEBIAN_FRONTEND=noninteractive \
			apt-get install --quiet=2 --yes --no-install-recommends chromium; \
	fi; \
	if $(BIN)/python tests/browser/find.py; then touch $@; fi
