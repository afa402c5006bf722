# What a target needs it sets up by itself, once: see scripts/. Recipes use $(BIN), so nothing has to be activated.

BIN := .venv/bin
PYTHON ?=
EMACS ?= emacs
export PYTHON EMACS

python-ready := .venv/.ready

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test lint bench info package screenshots clean

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
	@scripts/apt-install-missing tmux texinfo || echo "Tests that need them are skipped."
	@$(BIN)/pytest -n auto

lint: setup  ## ruff, mypy, the import contracts, and the Emacs code's own checks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@tests/elisp/lint

bench: $(python-ready)  ## speed and the oracles' figures, printed
	@for bench in tests/bench/*.py; do echo "== $$bench"; $(BIN)/python "$$bench" || exit; done

info:  ## the manual, docs/neuron-council.info, which C-u C-h i opens
	@scripts/apt-install-missing texinfo
	@$(EMACS) -Q --batch -l scripts/manual.el -f neuron-council-manual-and-exit
	@cd docs && makeinfo --no-split neuron-council.texi && install-info --dir=dir neuron-council.info

package:  ## dist/neuron-council-VERSION.tar, as an archive builds it
	@scripts/apt-install-missing texinfo
	@$(EMACS) -Q --batch -l scripts/package.el -f neuron-council-package-build-and-exit dist

screenshots: $(python-ready)  ## the pictures in docs/screenshots
	@scripts/screenshots

clean:  ## remove .venv and every cache
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name .git -prune -o \( -name __pycache__ -o -name '*.elc' \) -exec rm -rf {} +

$(python-ready): pyproject.toml scripts/setup-python
	@scripts/setup-python
	@touch $@
