# `make run` opens the app, `make test` passes the lints and the quick tests, `make test-long` the other tests.
# All set up .venv from the hashed lock files in requirements/ first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test test-long test-real test-all-pythons setup dev-setup check lint format compile-tests pytest pytest-long snapshots lock clean

run: setup
	$(BIN)/quorum

test: dev-setup check

test-long: dev-setup pytest-long

# Outside CI: needs a llama-server and a model, and takes minutes (docs/local-models.md).
test-real: setup
	$(BIN)/python benchmarks/local_models.py --server "$(LLAMA_SERVER)" --model "$(GGUF)" $(REAL_OPTIONS)

setup: $(VENV)/.installed-run

dev-setup: $(VENV)/.installed-dev

# What fails half-way is removed, so that the next attempt begins anew: without Debian's python3-venv there would
# be an interpreter and no pip.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "quorum needs Python 3.11 or newer; set PYTHON=…")'
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

# An environment that was left without pip, by an older attempt or another tool, is completed.
$(BIN)/pip: | $(BIN)/python
	@test -x $@ || { echo "Adding pip to $(VENV)"; $(PYTHON) -m venv $(VENV); }

$(VENV)/.installed-run: requirements/run.txt pyproject.toml | $(BIN)/pip
	@echo "Installing $$(grep -c '^[a-z].*==' $<) packages (about half a minute)"
	@$(PIP) install --require-hashes -r requirements/run.txt
	@echo "Installing quorum itself"
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: requirements/dev.txt $(VENV)/.installed-run
	@echo "Installing the packages that checks and tests need (about half a minute)"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# The tests with every supported Python that is installed, each in an environment of its own below .venvs/.
PYTHONS ?= $(shell for version in 3.11 3.12 3.13 3.14; do \
	for python in python$$version "$$HOME"/.pyenv/versions/$$version.*/bin/python; do \
	if "$$python" -c "import venv" 2>/dev/null; then echo "$$python"; break; fi; done; done)

test-all-pythons:
	@for python in $(PYTHONS); do \
		version=$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		echo "== Python $$version ($$python)"; \
		$(MAKE) --no-print-directory PYTHON="$$python" VENV=.venvs/$$version dev-setup pytest pytest-long || exit 1; \
	done

# What must hold before a change is kept, in a few minutes. The tests are compiled while the lints run.
check:
	@$(MAKE) --no-print-directory -j 2 lint compile-tests
	@$(MAKE) --no-print-directory pytest

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

# Each worker rewrites the assertions of all tests, unless the compiled form is there: kept also where the environment
# asks Python to write none.
compile-tests pytest pytest-long: export PYTHONDONTWRITEBYTECODE :=

compile-tests: # an error in a test is shown by the run that follows
	-@$(BIN)/pytest --collect-only -qq > /dev/null

pytest:
	$(BIN)/pytest -n auto --dist worksteal -m "not long" --hypothesis-profile quick

# What is left: the tests that take long, and all examples of the property tests.
pytest-long:
	$(BIN)/pytest -n auto --dist worksteal -m "long or hypothesis"

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

snapshots: dev-setup
	$(BIN)/pytest tests/tui --snapshot-update

# Needs uv; writes the lock files, with hashes and without the name of any index. `make setup` installs the extras
# but those of clouds, which are large and need an account. What runs is locked after what develops: the tests
# install all extras, and these must fit beside it.
LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header
UPGRADE := --upgrade
EXTRAS := --extra acp --extra copilot --extra keyring --extra mcp --extra serve --extra web

lock:
	$(LOCK) $(UPGRADE) --group dev --all-extras pyproject.toml requirements/build.in -o requirements/dev.txt
	$(LOCK) -c requirements/dev.txt $(EXTRAS) pyproject.toml requirements/build.in -o requirements/run.txt

clean:
	rm -rf $(VENV) .venvs .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
