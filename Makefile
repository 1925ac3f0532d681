# Two commands do everything: `make run` opens the app, `make test` passes the tests.
# Both set up .venv from the hashed lock files in requirements/ first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test setup dev-setup check lint format pytest snapshots lock clean

run: setup
	$(BIN)/quorum

test: dev-setup check

setup: $(VENV)/.installed-run

dev-setup: $(VENV)/.installed-dev

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "quorum needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-run: requirements/run.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: requirements/dev.txt $(VENV)/.installed-run
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# Everything that must hold before a change is kept.
check: lint pytest

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

pytest:
	$(BIN)/pytest -n auto

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

snapshots: dev-setup
	$(BIN)/pytest tests/tui --snapshot-update

# Needs uv; writes the lock files, with hashes and without the name of any index. What runs is locked after
# what develops: the extras, which only the tests install, must fit beside it.
LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header
UPGRADE := --upgrade

lock:
	$(LOCK) $(UPGRADE) --group dev --all-extras pyproject.toml requirements/build.in -o requirements/dev.txt
	$(LOCK) -c requirements/dev.txt pyproject.toml requirements/build.in -o requirements/run.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
