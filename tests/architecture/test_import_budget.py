"""What may not be loaded yet: start-up stays fast by what is left out of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SDKS = {"anthropic", "openai", "httpx2"}
HEAVY = SDKS | {"dependency_injector", "msgspec", "jsonschema", "re2", "pathspec", "charset_normalizer"}
OURS = {"domain", "application", "infrastructure"}
MOST_COMPILED = 4  # use `domain.lazy_dataclass` for a new one


def loaded_by(statement: str) -> set[str]:
    code = f"import json, sys\n{statement}\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return set(json.loads(result.stdout.splitlines()[-1]))


def inner(loaded: set[str]) -> set[str]:
    """What of our inner layers is loaded, but for the small pure package that makes text safe to print, and for
    the dataclasses that cost less to define."""
    ours = {name for name in loaded if name.split(".")[0] in OURS and not name.startswith("domain.text")}
    return ours - {"domain", "domain.lazy_dataclass"}


def test_asking_for_the_version_loads_neither_a_screen_nor_an_sdk_nor_an_argument_parser() -> None:
    loaded = loaded_by("from quorum.__main__ import main; main(['--version'])")

    assert not inner(loaded) | loaded & (HEAVY | {"textual", "rich", "argparse", "asyncio"})


@pytest.mark.long
def test_the_app_paints_before_anything_of_ours_but_the_front_end_is_loaded() -> None:
    loaded = loaded_by("import quorum.__main__, quorum.cli.app.full_screen, tui.app.app")

    assert not inner(loaded) | loaded & (HEAVY | {"rich.markdown", "pygments", "markdown_it"})


def test_without_arguments_the_app_starts_without_a_parser() -> None:
    loaded = loaded_by("import quorum.__main__, quorum.cli.app.full_screen; quorum.cli.app.AppOptions()")

    assert not inner(loaded) | loaded & (HEAVY | {"argparse", "textual", "quorum.command_line.reading"})


@pytest.mark.long
def test_nothing_of_the_remote_control_is_loaded_where_nobody_listens() -> None:
    loaded = loaded_by(
        "import quorum.__main__, quorum.command_line.reading, quorum.cli.app.full_screen, "
        "infrastructure.bootstrap"
    )

    assert not {name for name in loaded if name.startswith(("quorum.rpc", "infrastructure.remote"))}


@pytest.mark.long
def test_nothing_that_serves_a_browser_is_loaded_where_nobody_asks_for_it() -> None:
    loaded = loaded_by(
        "import quorum.__main__, quorum.command_line.reading, quorum.cli.app.full_screen, "
        "infrastructure.bootstrap"
    )

    assert not {name for name in loaded if name.split(".")[0] in {"aiohttp", "textual_serve"}}
    assert not {name for name in loaded if name.startswith("quorum.serve")}


def test_asking_a_quorum_that_listens_loads_no_screen_and_nothing_heavy() -> None:
    loaded = loaded_by("import quorum.__main__, quorum.command_line.reading, quorum.cli.rpc")

    assert not loaded & (HEAVY | {"textual", "rich", "asyncio", "sqlalchemy", "application"})


@pytest.mark.long
def test_composing_a_session_loads_no_sdk_and_nothing_that_only_some_sessions_need() -> None:
    loaded = loaded_by("import infrastructure.container")

    assert not loaded & {"anthropic", "openai", "textual", "jsonschema", "pydantic", "yaml"}
    assert "domain.review.hazards.inspection" not in loaded  # until a command is looked at


@pytest.mark.long
def test_what_opens_the_sessions_of_a_file_loads_no_library_of_databases() -> None:
    opens = "infrastructure.gate.sessions, infrastructure.store.ledger.opening, infrastructure.storage"

    loaded = loaded_by(f"import {opens}")

    assert not loaded & {"sqlalchemy", "alembic", "psycopg"}


def test_what_the_container_does_without_can_be_loaded_after_it() -> None:
    loaded = loaded_by("import infrastructure.injection, sys, yaml, pydantic")

    assert {"dependency_injector.providers", "yaml", "pydantic"} <= loaded


def test_the_container_loads_no_web_framework() -> None:
    loaded = loaded_by("import infrastructure.injection")

    assert "dependency_injector.providers" in loaded
    assert not loaded & {"fastapi", "fast_depends", "starlette", "werkzeug", "anyio"}


@pytest.mark.long(after=1)
@pytest.mark.parametrize("package", ["domain", "application"])
def test_the_inner_layers_load_nothing_but_the_standard_library(package: str) -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / package).rglob("*.py")
    ]

    loaded = loaded_by("import " + ", ".join(modules))

    outside = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - OURS
    assert {name for name in outside if not name.startswith("_")} <= {"sitecustomize", "usercustomize"}


def test_a_completion_loads_no_screen_no_database_library_and_nothing_heavy() -> None:
    loaded = loaded_by(
        "from quorum.__main__ import main; main(['completion', '--line', 'quorum sessions show ', 'bash'])"
    )

    assert not loaded & (HEAVY | {"textual", "rich", "asyncio", "sqlalchemy", "application"})


@pytest.mark.long
def test_composing_a_session_compiles_the_methods_of_few_classes() -> None:
    code = """
import infrastructure.container, quorum.headless.session, json, sys
from types import FunctionType
classes = {
    value
    for name, module in list(sys.modules.items())
    if name.split(".")[0] in {"domain", "application", "infrastructure"}
    for value in vars(module).values() if isinstance(value, type) and "__dataclass_fields__" in vars(value)
}
compiled = [kind.__qualname__ for kind in classes if isinstance(vars(kind).get("__init__"), FunctionType)]
print(json.dumps([len(classes), sorted(compiled)]))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    defined, compiled = json.loads(result.stdout)

    assert defined > 300
    assert len(compiled) <= MOST_COMPILED, compiled


def test_the_early_prompt_is_shown_before_anything_heavy_is_loaded() -> None:
    loaded = loaded_by(
        "import quorum.__main__, quorum.standard_streams, quorum.app.terminal, tui.terminal.early_prompt"
    )

    assert not loaded & (
        HEAVY | {"textual", "rich", "asyncio", "argparse", "dataclasses", "inspect", "pathlib"}
    )
    assert not inner(loaded)
