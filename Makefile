# `make run` opens the app, `make test` passes the lints and the quick tests, `make test-long` the other tests.
# All set up .venv from the hashed lock files in requirements/ first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test test-long test-real test-all-pythons setup dev-setup check lint format compile-tests compile-and-pytest pytest pytest-long snapshots \
	single-file site release lock clean

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

$(VENV)/.installed-release: requirements/release.txt $(VENV)/.installed-run
	@$(PIP) install --require-hashes -r requirements/release.txt
	@touch $@

# Everything in one file, with the extras of `make setup` and those that EXTRAS names, for systems like this one.
single-file: $(VENV)/.installed-release
	$(BIN)/python .ci/single_file.py dist/quorum $(EXTRAS)

site: $(VENV)/.installed-release
	$(BIN)/python .ci/site.py dist/site

# What is released, built twice and compared; SIGNING_KEY is an SSH key, DRAFT=--draft tries a version that is none yet.
release: $(VENV)/.installed-release
	$(BIN)/python .ci/release.py dist/release $(if $(SIGNING_KEY),--key "$(SIGNING_KEY)") $(DRAFT)

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

# What must hold before a change is kept, in a few minutes. The type checker has one core for a minute: the tests are
# compiled and begin beside it.
check:
	@$(MAKE) --no-print-directory -j 2 lint compile-and-pytest

compile-and-pytest: compile-tests
	@$(MAKE) --no-print-directory pytest

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases docs benchmarks
	$(BIN)/lint-imports --no-logo --no-cache

# Each worker rewrites the assertions of all tests, unless the compiled form is there: kept also where the environment
# asks Python to write none.
compile-tests pytest pytest-long: export PYTHONDONTWRITEBYTECODE :=

compile-tests:
	@$(BIN)/python -m tests.support.compiled_tests

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

# Writes the lock files, with hashes and without the name of any index. `make setup` installs the extras
# but those of clouds, which are large and need an account. What runs is locked after what develops: the tests
# install all extras, and these must fit beside it.
LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header
UPGRADE := --upgrade
USUAL_EXTRAS := --extra acp --extra copilot --extra keyring --extra mcp --extra serve --extra web

lock: $(VENV)/.installed-release
	$(LOCK) $(UPGRADE) --group dev --all-extras pyproject.toml requirements/build.in -o requirements/dev.txt
	$(LOCK) -c requirements/dev.txt $(USUAL_EXTRAS) pyproject.toml requirements/build.in -o requirements/run.txt
	$(LOCK) $(UPGRADE) -c requirements/dev.txt --group pyproject.toml:release -o requirements/release.txt

clean:
	rm -rf $(VENV) .venvs .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
