import pytest

from quorum.application.view.entries import Restoration
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.cards import draw_receipt, draw_receipt_line, draw_restored


def _effects(*changes: tuple[str, ChangeKind, bool], complete: bool = True) -> Effects:
    reported = tuple(FileChange(path=path, kind=kind, declared=declared) for path, kind, declared in changes)
    return Effects(changes=reported, complete=complete)


def _texts(strips) -> list[str]:
    return [strip.text.rstrip() for strip in strips]


def test_what_went_as_declared_needs_no_line_on_a_folded_card():
    effects = _effects(("/w/a.py", ChangeKind.MODIFIED, True))
    assert draw_receipt_line(effects, "/w", 60, TERMINAL) == []
    assert _texts(draw_receipt(effects, "/w", 60, TERMINAL)) == ["~ a.py · modified, declared"]


def test_what_nobody_declared_is_shown_even_on_a_folded_card():
    effects = _effects(
        ("/w/built.txt", ChangeKind.CREATED, False),
        ("/elsewhere/x", ChangeKind.DELETED, False),
        ("/w/a.py", ChangeKind.MODIFIED, True),
    )
    (line,) = _texts(draw_receipt_line(effects, "/w", 80, TERMINAL))
    assert line == "also changed 2 files: + built.txt, − /elsewhere/x"


@pytest.mark.parametrize(
    ("copies", "shown"),
    [
        (1, "changed 1 file: a.md renamed to b1.md"),
        (2, "changed 3 files: − a.md, + b1.md, + b2.md"),
    ],
    ids=["one with its content", "two with its content"],
)
def test_a_file_that_came_for_one_of_the_same_content_was_renamed(copies, shown):
    held = FileState(kind=FileKind.FILE, mode=0o644, size=9, sha256="5e" * 32)
    gone = FileChange(path="/w/a.md", kind=ChangeKind.DELETED, declared=False, before=held)
    come = [
        FileChange(path=f"/w/b{n}.md", kind=ChangeKind.CREATED, declared=False, after=held)
        for n in range(1, copies + 1)
    ]
    index = FileChange(path="/w/.git/index", kind=ChangeKind.MODIFIED, declared=True)
    (line,) = draw_receipt_line(Effects(changes=(gone, *come, index), complete=True), "/w", 80, TERMINAL)
    assert line.text.rstrip() == shown


def test_ignored_files_are_one_quiet_line_and_no_warning():
    ignored = tuple(
        FileChange(path=f"/w/__pycache__/{i}", kind=ChangeKind.CREATED, declared=False, ignored=True)
        for i in range(14)
    )
    source = FileChange(path="/w/a.py", kind=ChangeKind.MODIFIED, declared=False)
    quiet = draw_receipt_line(Effects(changes=ignored, complete=True), "/w", 80, TERMINAL)
    assert _texts(quiet) == ["+14 ignored files"]
    assert not _has_warning(quiet)
    both = draw_receipt_line(Effects(changes=(source, *ignored), complete=True), "/w", 80, TERMINAL)
    assert _texts(both) == ["changed 1 file: ~ a.py", "+14 ignored files"]
    assert _has_warning(both)
    assert len(draw_receipt(Effects(changes=(source, *ignored), complete=True), "/w", 80, TERMINAL)) == 15


def test_files_that_were_given_back_are_named_sources_first():
    changes = (
        FileChange(path="/w/.cache/x", kind=ChangeKind.DELETED, declared=True, ignored=True),
        FileChange(path="/w/a.py", kind=ChangeKind.MODIFIED, declared=True),
    )
    entry = Restoration(changes, "/w")
    assert _texts(draw_restored(entry, 80, TERMINAL)) == ["▸ gave back 1 file: ~ a.py, +1 ignored"]
    entry.expanded = True
    assert _texts(draw_restored(entry, 80, TERMINAL)) == [
        "▾ gave back 1 file, +1 ignored",
        "  ~ a.py",
        "  − .cache/x",
    ]


def _has_warning(strips) -> bool:
    return any(segment.style == TERMINAL.warning for strip in strips for segment in strip)


def test_many_changes_stay_on_one_line():
    effects = _effects(*((f"/w/{i}.txt", ChangeKind.CREATED, False) for i in range(100)))
    (line,) = draw_receipt_line(effects, "/w", 40, TERMINAL)
    assert line.cell_length <= 40
    assert len(draw_receipt(effects, "/w", 40, TERMINAL)) == 100


def test_a_receipt_that_did_not_see_everything_says_so():
    seen = _effects(complete=False)
    assert _texts(draw_receipt_line(seen, "/w", 60, TERMINAL)) == [
        "the workspace is too large to see every change"
    ]
    assert _texts(draw_receipt(seen, "/w", 60, TERMINAL)) == ["the workspace is too large to see every change"]


def test_a_change_that_was_found_late_is_shown_as_such():
    late = FileChange(path="/w/a.py", kind=ChangeKind.MODIFIED, declared=False, late=True)
    strips = draw_receipt(Effects(changes=(late,), complete=True), "/w", 80, TERMINAL)
    assert _texts(strips) == ["~ a.py · modified, not declared, found late: perhaps before this call"]


def test_names_of_files_cannot_draw():
    effects = _effects(("/w/\x1b[31mred\u202e", ChangeKind.CREATED, False))
    for strips in (draw_receipt_line(effects, "/w", 80, TERMINAL), draw_receipt(effects, "/w", 80, TERMINAL)):
        assert all(strip.text.isprintable() for strip in strips)
