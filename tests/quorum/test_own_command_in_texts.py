"""Commands that texts tell the person to start, where PATH does not lead to this program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.application.inbox import Inbox
from quorum.command_line.parser import build_parser, list_paths
from quorum.domain.errors import AnswerRefused
from quorum.infrastructure.storage import open_storage


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The program that was started, which PATH does not lead to."""
    program = tmp_path / "bin" / "quorum"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    return str(program)


@pytest.mark.parametrize("path", [("inbox",), ("inbox", "approve"), ("board",), ("review",), ()], ids=" ".join)
def test_the_help_of_a_command_names_the_program_by_its_path(own: str, path: tuple[str, ...]):
    _usage, _, shown = build_parser(path).format_help().partition("\n\n")

    assert f"{own} {path[0] if path else 'doctor'}" in shown
    assert " quorum --" not in shown
    assert not any(f" quorum {' '.join(words)}" in shown for words in list_paths() if words)


def test_the_help_keeps_the_name_where_path_leads_to_the_program(own: str, monkeypatch: pytest.MonkeyPatch):
    Path(own).chmod(0o755)
    monkeypatch.setenv("PATH", str(Path(own).parent))

    assert "  quorum board --json" in build_parser(["board"]).format_help()


def test_a_refused_answer_names_the_inbox_by_the_path_of_the_program(own: str, tmp_path: Path):
    async def answer(digest: str) -> str:
        inbox = Inbox(storage.archive, storage.answers, clock=lambda: 0, answered_by="me")
        with pytest.raises(AnswerRefused) as refused:
            await inbox.answer(digest, approves=True)
        return str(refused.value)

    from quorum.infrastructure.config.schema import Settings

    storage = open_storage(Settings().storage, {"XDG_STATE_HOME": str(tmp_path / "state")})
    try:
        said = [asyncio.run(answer(digest)) for digest in ("abcd", "0" * 16)]
    finally:
        storage.close()

    assert f"as {own} inbox prints them" in said[0]
    assert f"{own} inbox lists those that wait" in said[1]
