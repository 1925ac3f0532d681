"""What looks like something else in a call is named before a person answers."""

from __future__ import annotations

import pytest

from quorum.domain.calls.tool import ToolCall
from quorum.domain.review.lookalikes import find_lookalikes


def said_of(**arguments: object) -> tuple[str, ...]:
    return find_lookalikes(ToolCall(tool_name="run_command", arguments=arguments, native_id="c"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("c\u0430t notes.txt", "U+0430 CYRILLIC SMALL LETTER A"),
        ("ls \u0441\u043e\u0440\u0443", "U+0441 CYRILLIC SMALL LETTER ES"),
        ("ls \uff53\uff52\uff43", "U+FF53 FULLWIDTH LATIN SMALL LETTER S"),
        ("ls src\u2215a", "U+2215 DIVISION SLASH"),
        ("ls build\u00a0dist", "U+00A0 NO-BREAK SPACE"),
        ("ls a\r\nls b", "U+000D"),
        ("ls \u212aeys", "U+212A KELVIN SIGN"),
    ],
)
def test_a_command_that_is_not_what_it_looks_like_is_named(command: str, named: str) -> None:
    (said,) = said_of(command=command)

    assert named in said
    assert said.replace("…", "").isprintable()


@pytest.mark.parametrize(
    "command",
    [
        "ls src",
        "git commit -m 'Überprüfe die Größe'",
        "echo привет мир",
        "echo 日本語 ελληνικά",
        "echo 'API-ключ' naïve café",
        "printf 'a\\tb\\n'",
        "echo “quoted” – dash…",
    ],
)
def test_other_scripts_are_no_lookalikes(command: str) -> None:
    assert said_of(command=command) == ()


def test_arguments_of_any_tool_are_looked_through_but_not_what_a_diff_shows() -> None:
    assert len(said_of(deep={"to": ["p\u0430ypal"]})) == 1
    assert said_of(content="p\u0430ypal\r\n", note="two\u00a0words") == ()
    assert len(said_of(path="R\u0415ADME.md")) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"p\u0430th": "/root"},
        {"pa\u00a0th": "/root"},
        {"options": {"path": "src\u2215a"}},
        {"content": "p\u0430ypal"},
        {"edits": [{"path": "README\u2024md"}]},
    ],
)
def test_names_and_nested_values_of_a_server_s_tool_are_looked_through(arguments: dict[str, object]) -> None:
    call = ToolCall(tool_name="mcp__db__query", arguments=arguments, native_id="c")  # type: ignore[arg-type]

    assert len(find_lookalikes(call)) == 1


def test_many_are_told_in_few_lines() -> None:
    assert len(said_of(command=" ".join(f"\u0430b{'c' * each}" for each in range(50)))) == 3
