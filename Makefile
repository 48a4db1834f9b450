# Every target sets up what it needs: a virtual environment in .venv, with versions pinned by requirements.lock.

PYTHON      ?= python3
VENV        ?= .venv
TEST_EXTRAS ?= test
JOBS        ?= 2
PYTEST_ARGS ?=
# What `make check` tries: the machine, the schedulers, the records, the formats, and runs that must leave what they left.
CHECKED     ?= $(addprefix tests/,process changing failures records models schedulers slurm requests power dvfs dependencies \
                                  explain workload platform formats oracle)

# Compiled modules are kept whatever the environment says: else each worker of the tests, and each process that a test
# starts, compiles all that it imports anew.
export PYTHONDONTWRITEBYTECODE :=

BIN     := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock
# The least versions that setup.cfg allows of what the toolkit itself needs, as pins.
OLDEST   = $(shell sed -n '/^install_requires/,/^$$/s/^ *\([a-z0-9_]*\)>=\([0-9.]*\).*/\1==\2/p' setup.cfg)
SOURCES := setup.cfg setup.py pyproject.toml requirements.lock
CORE    := $(VENV)/.core-installed
TEST    := $(VENV)/.$(TEST_EXTRAS)-installed
DOCS    := $(VENV)/.docs-installed
LESSONS := $(VENV)/.lessons$(if $(LEARNING),-learning)-installed
SITE    := $(if $(TEACHERS),teachers,html)
comma   := ,

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo check oldest test lint format docs lessons bench clean

help: ## say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(CORE) ## simulate a real week under two schedulers, print a comparison, write a report
	$(BIN)/cluster-sim demo

test: lint ## lint, then run every test
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

check: lint ## lint, then the tests of CHECKED that are not slow, in about a minute and a half
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(PYTEST_ARGS) $(CHECKED)

oldest: ## the tests of CHECKED that are not slow, in an environment of their own with the oldest libraries that setup.cfg allows
	$(PYTHON) -m venv --clear $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[learning]' $(OLDEST) \
	  $(shell grep '^torch==' requirements.lock) hypothesis pyarrow pytest-xdist scipy
	$(VENV)-oldest/bin/python -m pytest -n $(JOBS) -m "not slow" $(PYTEST_ARGS) $(CHECKED)

lint: $(TEST) ## ruff (rules and layout) and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TEST) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS) ## build the manual as a site, docs/_build/html, with TEACHERS=1 one with solutions; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -j $(JOBS) $(if $(TEACHERS),-t teachers) docs docs/_build/$(SITE)
	@echo "docs/_build/$(SITE)/index.html"

lessons: $(LESSONS) ## set up JupyterLab, with LEARNING=1 torch for lesson 9, and write every lesson as a notebook into lessons
	@mkdir -p lessons
	@for text in analysis/lessons/texts/lesson-*.md; do \
	  name=$$(basename $$text .md); number=$${name#lesson-}; \
	  [ -e lessons/$$name.ipynb ] || $(BIN)/cluster-sim lesson $${number#0} --out lessons/$$name.ipynb >/dev/null || exit 1; \
	done
	@echo "$(BIN)/jupyter lab lessons"

bench: $(TEST) ## measure the speed figures of the README
	$(BIN)/python -m benchmarks

clean: ## remove the virtual environment, caches and build results
	rm -rf $(VENV) $(VENV)-oldest build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache docs/_build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A failed `venv` can leave a python without pip, which the next call would take for a finished one.
$(BIN)/python:
	@echo "$(PYTHON) -m venv $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(CORE): $(SOURCES) | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

$(TEST): $(SOURCES) | $(BIN)/python
	$(INSTALL) --editable '.[$(TEST_EXTRAS)]'
	@touch $@ $(CORE)

$(DOCS): $(SOURCES) | $(BIN)/python
	$(INSTALL) --editable '.[docs]'
	@touch $@ $(CORE)

$(LESSONS): $(SOURCES) | $(BIN)/python
	$(INSTALL) --editable '.[lessons$(if $(LEARNING),$(comma)learning)]'
	@touch $@ $(CORE)
