"""What code_lookup shows: places with their lines, of files that a search would show, within bounds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.language_servers.lookups import CodeLookups, Lookup
from quorum.infrastructure.tools.builtin.code_lookup import CodeLookup
from tests.infrastructure.commands.command_bench import RecordingControls, context_with
from tests.infrastructure.language_servers.lsp_bench import LspBench, a_bench


def place(path: Path | str, line: int = 0) -> dict[str, Any]:
    at = {"line": line, "character": 0}
    uri = path if "://" in str(path) else f"file://{path}"
    return {"uri": uri, "range": {"start": at, "end": at}}


async def find_references(folder: Path, *places: dict[str, Any]) -> str:
    async with a_bench(folder, manners={"locations": list(places)}) as bench:
        bench.write("a.py", "total = 1\n")
        return await bench.ask(Lookup.REFERENCES, "a.py", "total")


def a_tool(bench: LspBench) -> CodeLookup:
    return CodeLookup(Workspace([bench.root]), CodeLookups(bench.servers))


async def test_places_come_with_the_text_of_their_lines_once_each(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    (root / "sub/b.py").write_text("one\r\n\ttwo\x1b[31m\r\n")

    found = await find_references(
        tmp_path,
        place(root / "sub/b.py", 1),
        place(root / "a.py"),
        place(root / "sub/b.py", 1),
        place(root / "a.py", 9),
    )

    first, *rest = found.split("\n")
    assert first.startswith("sub/b.py:2:")
    assert first.isprintable()
    assert "two" in first
    assert rest == ["a.py:1:total = 1", "a.py:10:[there is no such line any more]", "[3 places in 2 files]"]


async def test_nothing_of_files_outside_is_shown_but_where_they_are(tmp_path: Path) -> None:
    outside = tmp_path / "library.py"
    outside.write_text("the secret of the library\n")

    found = await find_references(tmp_path, place(outside), place("/proc/self/environ"), place("/nowhere/x.py"))

    assert found.split("\n") == [
        f"{outside}:1: [outside the workspace]",
        "/nowhere/x.py:1: [outside the workspace]",
        "[2 places in 2 files]",
        "[1 in sensitive files or places of the system, not shown]",
    ]


async def test_sensitive_files_are_left_out_by_whatever_name_a_server_has_for_them(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".env").write_text("KEY=hunter2\n")
    (root / "link.py").symlink_to(".env")
    os.link(root / ".env", root / "hard.py")
    (root / "out.py").symlink_to(tmp_path / "elsewhere.py")
    (tmp_path / "elsewhere.py").write_text("hunter2\n")

    found = await find_references(
        tmp_path,
        *(place(root / name) for name in (".env", "link.py", "hard.py", "sub/../.env", "out.py")),
        place(f"file://{root}/%2Eenv"),
    )

    assert "hunter2" not in found
    assert "[4 in sensitive files or places of the system, not shown]" in found


async def test_places_that_are_no_files_are_counted(tmp_path: Path) -> None:
    found = await find_references(tmp_path, place("jdt://contents/rt.jar/String.class"), place("untitled://1"))

    assert found == "[nothing found]\n[2 in places that are no files, not shown]"


async def test_huge_answers_are_cut(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "long.py").write_text("y" * 5_000 + "\n")

    found = await find_references(
        tmp_path, place(root / "long.py"), *(place(root / "a.py", line) for line in range(5_000))
    )

    assert len(found) < 20_000
    assert "[line cut]" in found
    assert "[4801 more places not shown]" in found


async def test_symbols_are_listed_in_both_forms_of_the_protocol(tmp_path: Path) -> None:
    at = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 1}}
    inner = {"name": "grow", "kind": 6, "range": at, "selectionRange": at, "detail": "(self)\n -> int"}
    symbols = [
        {"name": "Box\x1b[0m", "kind": 5, "range": at, "selectionRange": at, "children": [inner, "no symbol"]},
        {"name": "total", "kind": 99, "location": {"uri": "file:///x", "range": at}, "containerName": "mod"},
        {"name": "nowhere", "kind": 1},
    ]
    async with a_bench(tmp_path, manners={"symbols": symbols}) as bench:
        bench.write("a.py")

        assert (await bench.ask(Lookup.SYMBOLS, "a.py")).split("\n") == [
            "a.py:3: class Box",
            "a.py:3:   method grow (self) -> int",
            "a.py:3: symbol total in mod",
        ]


async def test_symbols_of_the_workspace_come_with_their_lines(tmp_path: Path) -> None:
    root = tmp_path / "project"
    async with a_bench(tmp_path, manners={"locations": [place(root / "a.py", 1)]}) as bench:
        bench.write("a.py", "\ndef found():\n")

        found = await bench.ask(Lookup.WORKSPACE_SYMBOLS, symbol="fou")
        assert found == "a.py:2: function found: def found():\n[1 place in 1 file]"


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("hover", "shown"),
    [
        ({"kind": "markdown", "value": "**int**"}, "**int**"),
        (["first", {"language": "python", "value": "x: int"}, 7], "first\n\nx: int"),
        (None, "[nothing is known of it]"),
        ("z" * 9_000, "[cut: it has 9,000 characters]"),
    ],
)
async def test_hovers_are_read_in_all_their_forms(tmp_path: Path, hover: object, shown: str) -> None:
    async with a_bench(tmp_path, manners={"hover": hover}) as bench:
        bench.write("a.py", "x = 1\n")

        assert (await bench.ask(Lookup.HOVER, "a.py", "x")).endswith(shown)


async def test_the_errors_of_a_file_are_those_that_it_has_now(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        bench.write("a.py", "x = BROKEN\n")

        assert await bench.ask(Lookup.DIAGNOSTICS, "a.py") == "a.py:1: error: it is broken: x = BROKEN (odd E1)"
        bench.write("a.py", "x = 1\n")
        assert await bench.ask(Lookup.DIAGNOSTICS, "a.py") == "[odd finds no error or warning in the file]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"operation": "rename", "path": "a.py"}, "operation must be one of"),
        ({"operation": "definition", "symbol": "x"}, "definition needs path"),
        ({"operation": "hover", "path": "a.py"}, "hover needs symbol"),
        ({"operation": "symbols", "path": ".env"}, r"\.env is a sensitive file"),
        ({"operation": "symbols", "path": "/etc/hosts"}, "lies outside the workspace"),
        ({"operation": "symbols", "path": "none.py"}, "no such file"),
        ({"operation": "symbols", "path": "bin.py"}, "binary"),
        ({"operation": "symbols", "path": "sub.py"}, "is a folder"),
    ],
)
async def test_what_cannot_be_asked_is_an_error_that_says_why(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    async with a_bench(tmp_path, files=("*",)) as bench:
        bench.write("a.py", "x = 1\n")
        bench.write(".env", "KEY=1\n")
        (bench.root / "bin.py").write_bytes(b"\x00\x01" * 50)
        (bench.root / "sub.py").mkdir()

        with pytest.raises(ToolError, match=said):
            await a_tool(bench).execute(arguments, context_with(RecordingControls()))


async def test_it_is_a_reading_tool_whose_calls_wait_for_edits_anywhere_in_the_workspace(
    tmp_path: Path,
) -> None:
    async with a_bench(tmp_path) as bench:
        definition = a_tool(bench).definition
        (tmp_path / "out.py").touch()

        access = definition.access({"operation": "symbols", "path": str(tmp_path / "out.py")})

        assert definition.risk is RiskLevel.LOW
        assert str(bench.root) in access.reads
        assert access.outside == {str(tmp_path / "out.py")}
        assert not access.writes
        assert not access.exclusive


async def test_a_sensitive_file_reaches_no_server_by_an_edit(tmp_path: Path) -> None:
    async with a_bench(tmp_path, files=("*",)) as bench:
        assert await bench.edit(".env", "KEY = BROKEN\n") == []

        assert not bench.log.exists()
