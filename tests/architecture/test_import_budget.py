"""What may not be loaded yet: start-up stays fast by what is left out of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SDKS = {"anthropic", "openai", "httpx2"}
HEAVY = SDKS | {"dependency_injector", "msgspec", "jsonschema", "re2", "pathspec", "charset_normalizer"}
STRUCTS = {"msgspec", "typing_extensions"}  # the one loads the other
INNER = ("quorum.domain", "quorum.application", "quorum.infrastructure")
MOST_PATTERNS = 72  # each takes a tenth of a millisecond to compile
MOST_DATACLASSES = 5  # each compiles its methods when it is defined; a struct does not


def loaded_by(statement: str) -> set[str]:
    code = f"import json, sys\n{statement}\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return set(json.loads(result.stdout.splitlines()[-1]))


def inner(loaded: set[str]) -> set[str]:
    """What of our inner layers is loaded, but for the small pure package that makes text safe to print."""
    ours = {name for name in loaded if name.startswith(INNER) and not name.startswith("quorum.domain.text")}
    return ours - {"quorum.domain"}


def test_asking_for_the_version_loads_neither_a_screen_nor_an_sdk_nor_an_argument_parser() -> None:
    loaded = loaded_by("from quorum.__main__ import main; main(['--version'])")

    assert not inner(loaded) | loaded & (HEAVY | {"textual", "rich", "argparse", "asyncio"})


@pytest.mark.long
def test_the_app_paints_before_anything_of_ours_but_the_front_end_is_loaded() -> None:
    loaded = loaded_by("import quorum.__main__, quorum.cli.app.full_screen, quorum.tui.app.app")

    assert not inner(loaded) | loaded & (HEAVY | {"rich.markdown", "pygments", "markdown_it"})


def test_without_arguments_the_app_starts_without_a_parser() -> None:
    loaded = loaded_by("import quorum.__main__, quorum.cli.app.full_screen; quorum.cli.app.AppOptions()")

    assert not inner(loaded) | loaded & (HEAVY | {"argparse", "textual", "quorum.command_line.reading"})


def test_a_command_that_comes_first_is_found_without_the_options_of_the_app() -> None:
    loaded = loaded_by("from quorum.command_line.reading import parse; parse(['run', 'hello', '--quiet'])")

    assert "quorum.cli.run" in loaded
    assert "quorum.cli.app" not in loaded


@pytest.mark.long
def test_a_session_without_clouds_and_object_stores_loads_nothing_of_them() -> None:
    loaded = loaded_by(
        "import quorum.infrastructure.models.openai_chat.client, quorum.infrastructure.storage, "
        "quorum.infrastructure.container"
    )

    assert "quorum.infrastructure.models.clouds.endpoint" in loaded
    assert not {name for name in loaded if "amazon" in name or "google" in name or name.endswith(".bucket")}


@pytest.mark.long
def test_a_first_request_waits_for_no_dialog_and_for_no_markdown() -> None:
    loaded = loaded_by("import quorum.tui.session.approver, quorum.tui.transcript.layout.transcript_layout")

    assert not loaded & {"quorum.tui.screens.question_card", "quorum.tui.screens.review.dialog", "markdown_it"}


@pytest.mark.long
def test_nothing_of_the_remote_control_is_loaded_where_nobody_listens() -> None:
    loaded = loaded_by(
        "import quorum.__main__, quorum.command_line.reading, quorum.cli.app.full_screen, "
        "quorum.infrastructure.bootstrap"
    )

    assert not {name for name in loaded if name.startswith(("quorum.rpc", "quorum.infrastructure.remote"))}


@pytest.mark.long
def test_nothing_that_serves_a_browser_is_loaded_where_nobody_asks_for_it() -> None:
    loaded = loaded_by(
        "import quorum.__main__, quorum.command_line.reading, quorum.cli.app.full_screen, "
        "quorum.infrastructure.bootstrap"
    )

    assert not {name for name in loaded if name.split(".")[0] in {"aiohttp", "textual_serve"}}
    assert not {name for name in loaded if name.startswith("quorum.serve")}


def test_asking_a_quorum_that_listens_loads_no_screen_and_nothing_heavy() -> None:
    loaded = loaded_by("import quorum.__main__, quorum.command_line.reading, quorum.cli.rpc")

    assert not loaded & (HEAVY | {"textual", "rich", "asyncio", "sqlalchemy", "quorum.application"})


@pytest.mark.long
def test_composing_a_session_loads_no_sdk_and_nothing_that_only_some_sessions_need() -> None:
    loaded = loaded_by("import quorum.infrastructure.container")

    assert not loaded & {"anthropic", "openai", "textual", "jsonschema", "pydantic", "yaml"}
    assert "quorum.domain.review.hazards.inspection" not in loaded  # until a command is looked at


@pytest.mark.long
def test_what_opens_the_sessions_of_a_file_loads_no_library_of_databases() -> None:
    opens = (
        "quorum.infrastructure.gate.sessions, quorum.infrastructure.store.ledger.opening, "
        "quorum.infrastructure.storage"
    )

    loaded = loaded_by(f"import {opens}")

    assert not loaded & {"sqlalchemy", "alembic", "psycopg"}


def test_what_the_container_does_without_can_be_loaded_after_it() -> None:
    loaded = loaded_by("import quorum.infrastructure.container, sys, yaml, pydantic")

    assert {"dependency_injector.providers", "yaml", "pydantic"} <= loaded


def test_the_container_loads_no_web_framework() -> None:
    loaded = loaded_by("import quorum.infrastructure.container")

    assert "dependency_injector.providers" in loaded
    assert not loaded & {"fastapi", "fast_depends", "starlette", "werkzeug", "anyio"}


@pytest.mark.long(after=1)
@pytest.mark.parametrize("package", ["domain", "application"])
def test_the_inner_layers_load_nothing_but_the_standard_library_and_structs(package: str) -> None:
    modules = [
        ".".join(("quorum", *path.relative_to(ROOT).with_suffix("").parts))
        for path in (ROOT / package).rglob("*.py")
    ]

    loaded = loaded_by("import " + ", ".join(modules))

    outside = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"quorum"}
    public = {name for name in outside if not name.startswith("_")}
    assert public <= STRUCTS | {"sitecustomize", "usercustomize"}


def test_a_completion_loads_no_screen_no_database_library_and_nothing_heavy() -> None:
    loaded = loaded_by(
        "from quorum.__main__ import main; main(['completion', '--line', 'quorum sessions show ', 'bash'])"
    )

    assert not loaded & (HEAVY | {"textual", "rich", "asyncio", "sqlalchemy", "quorum.application"})


@pytest.mark.long
def test_loading_a_session_compiles_few_patterns() -> None:
    code = """
import re
compile, ours = re.compile, []
def count(pattern, flags=0):
    import sys
    names = sys._getframe(1).f_globals
    if names["__name__"].startswith("quorum."):
        ours.append(names["__name__"])
    return compile(pattern, flags)
re.compile = count
import quorum.infrastructure.container, quorum.headless.session, quorum.infrastructure.bootstrap, json
print(json.dumps(ours))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )

    compiled = Counter(json.loads(result.stdout))

    assert compiled.total() <= MOST_PATTERNS, compiled.most_common(5)


@pytest.mark.long
def test_composing_a_session_defines_few_dataclasses() -> None:
    code = """
import quorum.infrastructure.container, quorum.headless.session, json, sys
print(json.dumps(sorted({
    value.__qualname__
    for name, module in list(sys.modules.items())
    if name.startswith(("quorum.domain", "quorum.application", "quorum.infrastructure"))
    for value in vars(module).values() if isinstance(value, type) and "__dataclass_fields__" in vars(value)
})))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    defined = json.loads(result.stdout)

    assert len(defined) <= MOST_DATACLASSES, defined


def test_the_early_prompt_is_shown_before_anything_heavy_is_loaded() -> None:
    loaded = loaded_by(
        "import quorum.__main__, quorum.standard_streams, quorum.app.terminal, quorum.tui.terminal.early_prompt"
    )

    assert not loaded & (
        HEAVY | {"textual", "rich", "asyncio", "argparse", "dataclasses", "inspect", "pathlib"}
    )
    assert not inner(loaded)
