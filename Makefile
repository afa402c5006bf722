# What a target needs it sets up by itself, once: see scripts/. Recipes use $(BIN), so nothing has to be activated.

BIN := .venv/bin
PYTHON ?=
EMACS ?= emacs
export PYTHON EMACS

python-ready := .venv/.ready

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test lint bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

setup: $(python-ready)  ## .venv with the project, its tools and the embedded model, and Emacs
	@scripts/setup-emacs

demo: setup  ## four claims before a council of three small models inside the process
	@$(EMACS) -Q --batch -L elisp -l examples/demo/demo.el

test: setup  ## all tests, those in Emacs included
ifdef CI
	@tests/elisp/fetch-emacs-30 || echo "Emacs 30 cannot be had here: the tests run on $(EMACS) alone."
endif
	@$(BIN)/pytest -n auto

lint: setup  ## ruff, mypy, the import contracts, and the Emacs code's own checks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@tests/elisp/lint

bench: $(python-ready)  ## speed and the oracles' figures, printed
	@for bench in tests/bench/*.py; do echo "== $$bench"; $(BIN)/python "$$bench" || exit; done

clean:  ## remove .venv and every cache
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name .git -prune -o \( -name __pycache__ -o -name '*.elc' \) -exec rm -rf {} +

$(python-ready): pyproject.toml scripts/setup-python
	@scripts/setup-python
	@touch $@
