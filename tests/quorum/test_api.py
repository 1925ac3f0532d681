"""The public interface for plug-ins: what the pages about it show is there, and nothing else is needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from quorum import api
from quorum.application.calls import hooks
from quorum.application.calls.hooks import Hook
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import Continue, HookPoint, describe_point
from quorum.domain.replacing import replace
from quorum.infrastructure.hooks.registrations import PythonHook
from tests.support.hook_drafts import a_result_draft

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("custom-tools.md", "hooks.md")
LAYERS = r"(?:quorum\.)?(?:domain|application|infrastructure|tui)"


def _examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def _imports(example: str) -> set[tuple[str, str]]:
    found = (node for node in ast.walk(ast.parse(example)) if isinstance(node, ast.ImportFrom))
    return {(node.module or "", alias.name) for node in found for alias in node.names}


def test_every_name_of_the_interface_is_there() -> None:
    assert sorted(api.__all__) == api.__all__
    assert all(hasattr(api, name) for name in api.__all__)


@pytest.mark.parametrize("page", PAGES)
def test_an_example_imports_nothing_of_quorum_but_its_public_interface(page: str) -> None:
    examples = _examples(page)
    ours = {
        (m, n) for example in examples for m, n in _imports(example) if re.match(rf"{LAYERS}\b|quorum\b", m)
    }

    assert examples
    assert ours
    assert {module for module, _ in ours} == {"quorum.api"}
    assert {name for _, name in ours} <= set(api.__all__)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_no_module_of_the_inner_layers(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")

    assert not re.findall(rf"`{LAYERS}\.[\w.]+`", text)


@pytest.mark.parametrize("point", HookPoint)
def test_what_a_hook_is_shown_and_may_answer_can_be_imported(point: HookPoint) -> None:
    hints = get_type_hints(getattr(Hook, point), vars(hooks) | {"Sequence": Sequence})
    shown = next(hint for name, hint in hints.items() if name != "return")
    answers = describe_point(point).answers

    assert getattr(shown, "__origin__", shown) is Sequence or shown.__name__ in api.__all__
    assert {answer.__name__ for answer in answers} <= set(api.__all__)


async def test_the_documented_hook_changes_what_the_page_says() -> None:
    module: dict[str, Any] = {}
    exec(next(example for example in _examples("hooks.md") if "class Prefix" in example), module)
    result, failed = a_result_draft(), replace(a_result_draft(), outcome=Outcome.ERROR)
    hook = PythonHook(module["Prefix"]())

    before = result.output
    assert await hook.answer(result) == await hook.answer(failed) == Continue()
    assert result.output == f"[OK] {before}"
    assert failed.output == before
