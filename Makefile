# `make report` runs the main job, `make test` the tests. Each first makes .venv, once per content of
# pyproject.toml and constraints.txt. Another interpreter: make report PYTHON=/path/to/python3.12
.DEFAULT_GOAL := report
.PHONY: help report test test-slow bench setup clean

VENV := .venv
RUN := $(VENV)/bin/python
NEW_ENOUGH := -c 'import sys; raise SystemExit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for each in python3 python3.13 python3.12 python3.11 python; do \
    $$each $(NEW_ENOUGH) >/dev/null 2>&1 && { echo $$each; break; }; done)
FINGERPRINT := $(shell cat pyproject.toml constraints.txt | cksum | cut -d ' ' -f 1)
INSTALLED := $(VENV)/installed-$(FINGERPRINT)

help:
	@echo "make report     train, measure, compare; prints the verdicts and the path of the page"
	@echo "make test       ruff, pyright, import-linter, pytest (the default selection)"
	@echo "make test-slow  the tests marked slow"
	@echo "make bench      benchmarks against rivals"
	@echo "make clean      remove .venv (runs/ is kept)"

setup: $(INSTALLED)

$(INSTALLED):
	@$(or $(PYTHON),false) $(NEW_ENOUGH) >/dev/null 2>&1 || { \
	  echo "skipglass needs Python 3.11 or newer; '$(or $(PYTHON),python3)' is $$( $(or $(PYTHON),python3) --version 2>/dev/null || echo not there)."; \
	  echo "Install one and name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12"; exit 1; }
	@echo "Setting up $(VENV) (a few minutes the first time; the torch wheels are large) ..."
	@$(PYTHON) -m venv --clear $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu install the package python3-venv, then try again."; exit 1; }
	@$(RUN) -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

report: $(INSTALLED)
	@$(RUN) -m paper_checks $(ARGS)

test: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m pyright
	$(VENV)/bin/lint-imports
	$(RUN) -m pytest -m "not slow" $(ARGS)

test-slow: $(INSTALLED)
	$(RUN) -m pytest -m slow $(ARGS)

bench: $(INSTALLED)
	$(RUN) -m pytest tests/benchmarks -n 0 --benchmark-enable --benchmark-only $(ARGS)

clean:
	rm -rf $(VENV)
