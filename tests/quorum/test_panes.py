"""The entries of a transcript as programs read them: the name of each kind is part of the protocol."""

from __future__ import annotations

from types import SimpleNamespace
from typing import get_args

import pytest

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Entry,
    Notice,
    NoticeKind,
    PanelEntry,
    PromptEntry,
    Restoration,
)
from quorum.rpc.panes import read_pane

KINDS: tuple[tuple[Entry, str], ...] = (
    (PromptEntry("a prompt"), "prompt"),
    (AnswerEntry(["an answer"]), "answer"),
    (Batch("batch"), "calls"),
    (Notice(NoticeKind.INFO, "a remark"), "info"),
    (Notice(NoticeKind.WARNING, "a warning"), "warning"),
    (Notice(NoticeKind.ERROR, "an error"), "error"),
    (Restoration(()), "restoration"),
    (PanelEntry("panel", "p/moderator", [], 0.0), "panel"),
)


@pytest.mark.parametrize(("entry", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_each_kind_of_entry_has_a_name_that_stays(entry: Entry, kind: str) -> None:
    chat = SimpleNamespace(transcript=SimpleNamespace(entries=[entry]))

    assert read_pane(chat, 1)["entries"][0]["kind"] == kind  # type: ignore[arg-type,index]


def test_no_kind_of_entry_is_without_a_name() -> None:
    assert {type(entry) for entry, _ in KINDS} == set(get_args(Entry))
