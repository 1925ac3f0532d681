from collections.abc import Mapping

import pytest

from quorum.domain.calls.effects import (
    OUTSIDE,
    ChangeKind,
    FileChange,
    FileKind,
    FileState,
    KeptFiles,
    is_like,
    is_same,
)
from quorum.domain.conversation.history import Conversation, Moment
from quorum.domain.sessions.restoration import plan_for_turns, plan_from_record, plan_redo
from quorum.domain.sessions.state import PastTurn, PastUndo


def holding(text: str, mode: int = 0o644) -> FileState:
    return FileState(kind=FileKind.FILE, mode=mode, size=len(text), sha256=f"sha of {text}")


def leading(target: str) -> FileState:
    return FileState(kind=FileKind.LINK, mode=0, target=target)


def unread(why: str, size: int = 1) -> FileState:
    return FileState(kind=FileKind.FILE, mode=0o600, size=size, unkept=why)


def change(path: str, before: FileState | None, after: FileState | None) -> FileChange:
    return FileChange(path=path, kind=ChangeKind.MODIFIED, declared=True, before=before, after=after)


def turn(
    number: int, *changes: FileChange, manifests: tuple[str, ...] = (), undone: bool = False, unseen: str = ""
) -> PastTurn:
    return PastTurn(
        number=number,
        prompt="",
        at_ms=0,
        before=Moment(Conversation(), 0, 0),
        values_before={},
        changes=changes,
        manifests=manifests,
        undone=undone,
        unseen=(unseen,) if unseen else (),
    )


def there(states: Mapping[str, FileState], *, complete: bool = True) -> KeptFiles:
    return KeptFiles(roots=("/w",), states=states, complete=complete)


def test_the_first_state_since_the_turn_is_wanted_and_earlier_turns_do_not_count() -> None:
    a, b, c = holding("a"), holding("b"), holding("c")
    turns = [turn(0, change("/w/x", None, a)), turn(1, change("/w/x", a, b)), turn(2, change("/w/x", b, c))]
    plan = plan_for_turns(1, turns, last_written={"/w/x": c}, now=there({"/w/x": c}), interrupted={})
    (step,) = plan.steps
    assert (plan.turn, step.path, step.wanted, step.now, step.edited_since) == (1, "/w/x", a, c, False)


def test_what_is_not_as_it_was_left_was_edited_since() -> None:
    a, b, mine = holding("a"), holding("b"), holding("mine")
    turns = [turn(0, change("/w/x", a, b), change("/w/y", a, b), change("/w/gone", a, None))]
    left = {"/w/x": b, "/w/y": b, "/w/gone": None}
    plan = plan_for_turns(0, turns, last_written=left, now=there({"/w/x": b, "/w/y": mine}), interrupted={})
    assert {step.path: step.edited_since for step in plan.steps} == {
        "/w/x": False,
        "/w/y": True,
        "/w/gone": False,
    }
    assert [step.path for step in plan.edited] == ["/w/y"]


def test_a_path_whose_last_state_is_not_known_is_asked_about() -> None:
    turns = [turn(0, change("/w/x", holding("a"), None))]
    plan = plan_for_turns(0, turns, last_written={}, now=there({"/w/x": holding("b")}), interrupted={})
    assert plan.steps[0].edited_since


def test_an_unknown_content_is_never_taken_for_the_one_that_was_left() -> None:
    after = unread("it is sensitive")
    turns = [turn(0, change("/w/.env", None, after))]
    plan = plan_for_turns(
        0, turns, last_written={"/w/.env": after}, now=there({"/w/.env": after}), interrupted={}
    )
    (step,) = plan.steps
    assert (step.edited_since, step.is_final, step.trouble) == (True, True, None)


@pytest.mark.parametrize(
    ("before", "trouble"),
    [
        (unread("it is sensitive"), "its former content was not kept (it is sensitive)"),
        (
            FileState(kind=FileKind.OTHER, mode=0o644, unkept="it is no regular file"),
            "it was no file or link, and such a thing cannot be made again",
        ),
        (
            FileState(kind=FileKind.LINK, mode=0, unkept="it holds a secret"),
            "where it led was not kept (it holds a secret)",
        ),
        (leading("a"), None),
        (holding("a"), None),
    ],
)
def test_what_cannot_be_given_back_says_why(before: FileState, trouble: str | None) -> None:
    after = holding("b")
    turns = [turn(0, change("/w/x", before, after))]
    plan = plan_for_turns(0, turns, last_written={"/w/x": after}, now=there({"/w/x": after}), interrupted={})
    assert [step.trouble for step in plan.steps] == [trouble]


def test_a_file_outside_the_workspace_is_none_that_can_be_removed() -> None:
    after = unread(OUTSIDE)
    turns = [turn(0, change("/tmp/x", None, after))]
    plan = plan_for_turns(
        0, turns, last_written={"/tmp/x": after}, now=there({"/tmp/x": after}), interrupted={}
    )
    assert [step.trouble for step in plan.steps] == [OUTSIDE]
    assert not plan.edited


def test_a_mode_can_be_given_back_though_the_content_was_not_kept() -> None:
    before = FileState(
        kind=FileKind.FILE, mode=0o644, size=1, sha256="s", unkept="it lies in an ignored folder"
    )
    after = FileState(kind=FileKind.FILE, mode=0o755, size=1, sha256="s", unkept="it lies in an ignored folder")
    turns = [turn(0, change("/w/x", before, after))]
    plan = plan_for_turns(0, turns, last_written={"/w/x": after}, now=there({"/w/x": after}), interrupted={})
    assert [step.trouble for step in plan.steps] == [None]


def test_what_nobody_looked_at_is_left_and_said() -> None:
    turns = [turn(0, change("/w/x", holding("a"), None), unseen="not every file was looked at")]
    plan = plan_for_turns(0, turns, last_written={"/w/x": None}, now=there({}, complete=False), interrupted={})
    assert plan.steps == ()
    assert len(plan.unseen) == 2


def test_an_interrupted_call_is_compared_with_what_was_there_before_it() -> None:
    a, b, c = holding("a"), holding("b"), holding("c")
    kept = there({"/w/same": a, "/w/changed": a, "/w/gone": a, "/w/.env": unread("it is sensitive")})
    now = there({"/w/same": a, "/w/changed": b, "/w/new": c, "/w/.env": unread("it is sensitive")})
    plan = plan_for_turns(0, [turn(0, manifests=("m",))], last_written={}, now=now, interrupted={"m": kept})
    assert {step.path: (step.wanted, step.now, step.edited_since) for step in plan.steps} == {
        "/w/changed": (a, b, True),
        "/w/gone": (a, None, True),
        "/w/new": (None, c, True),
    }
    assert len(plan.unseen) == 1


def test_an_interrupted_call_may_have_changed_again_what_another_had_left() -> None:
    a, b = holding("a"), holding("b")
    turns = [turn(0, change("/w/x", b, a)), turn(1, manifests=("m",))]
    plan = plan_for_turns(
        1, turns, last_written={"/w/x": a}, now=there({"/w/x": b}), interrupted={"m": there({"/w/x": a})}
    )
    assert [(step.wanted, step.edited_since) for step in plan.steps] == [(a, True)]


def test_only_what_was_looked_at_counts_as_new_after_an_interrupted_call() -> None:
    kept = KeptFiles(roots=("/w/a",), states={})
    now = there({"/w/a": holding("a"), "/w/b": holding("b")})
    plan = plan_for_turns(0, [turn(0, manifests=("m",))], last_written={}, now=now, interrupted={"m": kept})
    assert [step.path for step in plan.steps] == ["/w/a"]


def test_states_are_the_same_only_where_it_is_known() -> None:
    assert is_same(None, None)
    assert not is_same(None, holding("a"))
    assert is_same(holding("a"), holding("a"))
    assert not is_same(holding("a"), holding("a", 0o755))
    assert not is_same(unread("x"), unread("x"))
    assert is_like(unread("x"), unread("y"))
    assert not is_like(unread("x"), unread("x", size=2))
    assert not is_like(holding("a"), holding("b"))
    assert is_like(FileState(kind=FileKind.FILE, mode=0o644, size=1, unkept="x"), holding("a"))
    assert is_same(leading("a"), leading("a"))
    assert not is_like(leading("a"), leading("b"))
    assert not is_same(leading("a"), holding("a"))


def test_the_record_alone_tells_how_the_session_left_the_files() -> None:
    one, two, three = holding("1"), holding("2"), holding("3")
    turns = (
        turn(4, change("/w/a", one, two), change("/w/new", None, one), change("/w/back", one, two)),
        turn(5, change("/w/a", two, three), change("/w/back", two, one), change("/w/gone", one, None)),
    )
    last = {"/w/a": three, "/w/new": one, "/w/back": one, "/w/gone": None}

    plan = plan_from_record(turns, last)

    assert [(step.path, step.wanted, step.now) for step in plan.steps] == [
        ("/w/a", one, three),
        ("/w/gone", one, None),
        ("/w/new", None, one),
    ]
    assert plan.unseen == ()


def test_what_the_record_does_not_tell_is_said() -> None:
    turns = (turn(1, change("/w/a", holding("1"), None), manifests=("m",), unseen="It may be more."),)

    plan = plan_from_record(turns, {})

    assert plan.steps == ()
    assert plan.unseen == (
        "It may be more.",
        "What an interrupted call changed is not recorded.",
        "How the session left a file is not recorded.",
    )
    assert plan_from_record((), {}).unseen == ()


def test_a_redo_wants_the_states_before_the_undo_and_asks_about_what_is_not_as_it_left_it() -> None:
    a, b, mine = holding("a"), holding("b"), holding("mine")
    undo = PastUndo(
        number=0,
        turn=1,
        changes=tuple(change(path, b, a) for path in ("/w/undone", "/w/mine", "/w/redone", "/w/removed")),
    )
    now = there({"/w/undone": a, "/w/mine": mine, "/w/redone": b})
    steps = {step.path: step for step in plan_redo(undo, now).steps}
    assert {path: step.edited_since for path, step in steps.items()} == {
        "/w/undone": False,
        "/w/mine": True,
        "/w/removed": True,
    }
    assert {step.wanted for step in steps.values()} == {b}


def test_a_redo_says_which_files_it_cannot_bring_back() -> None:
    undo = PastUndo(number=0, turn=None, changes=(change("/w/env", unread("sensitive"), None),))
    (step,) = plan_redo(undo, there({})).steps
    assert step.trouble == "its former content was not kept (sensitive)"


def by_product(path: str) -> FileChange:
    return FileChange(path=path, kind=ChangeKind.CREATED, declared=False, after=holding("x"), ignored=True)


def test_edited_sources_come_first_and_by_products_last() -> None:
    x = holding("x")
    undeclared = FileChange(path="/w/b", kind=ChangeKind.CREATED, declared=False, after=x)
    both = FileChange(path="/w/both.log", kind=ChangeKind.CREATED, declared=True, after=x, ignored=True)
    turns = [
        turn(0, by_product("/w/.cache"), undeclared, by_product("/w/both.log"), both, change("/w/z", None, x))
    ]
    paths = ("/w/.cache", "/w/b", "/w/both.log", "/w/z")
    plan = plan_for_turns(
        0, turns, last_written=dict.fromkeys(paths, x), now=there(dict.fromkeys(paths, x)), interrupted={}
    )
    assert [(step.path, step.ignored) for step in plan.steps] == [
        ("/w/both.log", False),
        ("/w/z", False),
        ("/w/b", False),
        ("/w/.cache", True),
    ]


def test_a_redo_still_tells_by_products_from_sources() -> None:
    x = holding("x")
    undo = PastUndo(number=0, turn=0, changes=(by_product("/w/.cache"), change("/w/z", x, None)))
    plan = plan_redo(undo, there({"/w/.cache": x}))
    assert [(step.path, step.ignored) for step in plan.steps] == [("/w/z", False), ("/w/.cache", True)]
