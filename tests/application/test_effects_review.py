"""The person reviews the effects of a layer once: what was decided is recorded before and after it happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.staging.effects_review import EffectsReview, find_hosts, list_remarks
from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.effects import FileKind, FileState
from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import LedgerError, StagingError
from quorum.domain.events.event import EffectsApproved, EffectsReviewed, Event, LayerWaits, NoticeGiven
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.replacing import replace
from quorum.domain.shell.script import split_coarsely
from quorum.domain.staging.effects_overview import EffectsOverview
from quorum.domain.staging.layer_effects import (
    EffectChoice,
    LayerCommit,
    LayerEffect,
    LayerEffectKind,
    LayerEffects,
)
from quorum.domain.staging.layer_work import LayerWork
from quorum.infrastructure.files.diff import render_unified_diff
from tests.support.fake_layer import FakeLayer
from tests.support.fake_ledger import FakeLedger


class Rig:
    def __init__(self) -> None:
        self.layer = FakeLayer({"a.py": b"one\n", "b.py": b"two\n"})
        self.ledger = FakeLedger()
        self.notes: list[str] = []
        self.review = EffectsReview(
            self.layer, EventBus((), ledger=self.ledger), queue_note=self._note, render_diff=render_unified_diff
        )

    async def _note(self, text: str) -> None:
        self.notes.append(text)

    @property
    def events(self) -> list[Event]:
        return self.ledger.events


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.layer.write("a.py", b"one\nmore\n")
    rig.layer.write("b.py", None)
    rig.layer.write("c.py", b"three\n")
    return rig


async def test_what_was_approved_is_on_record_before_it_is_applied_and_what_came_of_it_after(rig: Rig) -> None:
    packet = await rig.review.read()

    applied = await rig.review.apply(packet, EffectChoice(left_out=frozenset({"b.py"})))

    assert applied.is_done
    assert rig.layer.workspace == {"a.py": b"one\nmore\n", "b.py": b"two\n", "c.py": b"three\n"}
    approved, reviewed = rig.events
    assert isinstance(approved, EffectsApproved)
    assert (approved.digest, approved.left_out) == (packet.digest, ("b.py",))
    assert [(each.path, each.after and each.after.sha256) for each in approved.effects] == [
        (each.path, each.after and each.after.sha256) for each in packet.effects.effects if each.path != "b.py"
    ]
    assert isinstance(reviewed, EffectsReviewed)
    assert (reviewed.decision, reviewed.files) == (EffectsDecision.APPLIED, 2)
    assert "b.py" in rig.notes[0]


async def test_what_cannot_be_recorded_is_not_applied(rig: Rig) -> None:
    packet = await rig.review.read()
    rig.ledger.trouble = "the disk is full"

    with pytest.raises(LedgerError):
        await rig.review.apply(packet, EffectChoice())

    assert rig.layer.workspace == {"a.py": b"one\n", "b.py": b"two\n"}


async def test_effects_that_are_others_by_now_are_refused_and_the_record_says_so(rig: Rig) -> None:
    packet = await rig.review.read()
    rig.layer.write("c.py", b"something else\n")

    applied = await rig.review.apply(packet, EffectChoice())

    assert not applied.is_done
    assert rig.layer.workspace == {"a.py": b"one\n", "b.py": b"two\n"}
    assert isinstance(rig.events[-1], EffectsReviewed)
    assert rig.events[-1].decision is EffectsDecision.REFUSED
    assert rig.notes == []


async def test_words_leave_everything_in_the_layer_and_are_on_record(rig: Rig) -> None:
    await rig.review.reject(await rig.review.read(), "keep b.py")

    (reviewed,) = rig.events
    assert isinstance(reviewed, EffectsReviewed)
    assert (reviewed.decision, reviewed.words) == (EffectsDecision.REJECTED, "keep b.py")
    assert len((await rig.review.read()).effects.effects) == 3
    assert "3 changed files" in rig.notes[0]


async def test_a_line_break_in_a_name_is_no_line_of_its_diff(rig: Rig) -> None:
    rig.layer.write("x\n@@ -1 +1 @@\n+y", b"new\n")
    packet = await rig.review.read()

    diff = await rig.review.diff(packet.effects.effects[-1])

    assert [line[:1] for line in diff.splitlines()] == ["-", "+", "@", "+"]


async def test_a_change_of_owner_or_attributes_alone_is_said(rig: Rig) -> None:
    state = FileState(kind=FileKind.FILE, mode=0o644, size=1, sha256="1")
    effect = LayerEffect(path="a.py", kind=LayerEffectKind.MODE, before=state, after=state)

    assert list_remarks(effect) == ["its owner, access list or attributes change, and nothing else"]
    more = LayerEffect(path="a.py", kind=LayerEffectKind.MODE, before=state, after=replace(state, mode=0o600))
    assert list_remarks(more) == ["mode 0644, now 0600"]


@pytest.mark.parametrize("changed", [False, True])
async def test_work_of_subagents_that_is_not_merged_waits_as_changes_do(changed: bool) -> None:
    rig = Rig()
    rig.layer.unmerged = ("what writer-1 changed could not be merged",)
    if changed:
        rig.layer.write("a.py", b"one\nmore\n")

    waits = await rig.review.note_waiting()

    assert rig.events == [waits]
    assert waits is not None
    assert (waits.files, waits.unmerged) == (int(changed), 1)
    assert "what 1 subagent changed is not merged" in waits.sentence
    assert ("changed file" in waits.sentence) is changed
    await rig.review.discard(await rig.review.read())
    assert await rig.review.note_waiting() is None


async def test_discarding_drops_everything_and_the_model_reads_so(rig: Rig) -> None:
    await rig.review.discard(await rig.review.read())

    assert (await rig.review.read()).effects.is_empty
    assert "discarded" in rig.notes[0]


@pytest.mark.parametrize("trouble", ["", "the disk is full"])
async def test_what_became_of_an_earlier_change_is_on_record_however_the_next_ends(
    rig: Rig, trouble: str
) -> None:
    rig.layer.remarks = ("applying effects was broken off", "a.py is kept as you changed it")
    rig.layer.trouble = trouble

    with pytest.raises(StagingError) if trouble else nullcontext():
        await rig.review.discard(None)

    told = [event.message for event in rig.events if isinstance(event, NoticeGiven)]
    assert told == ["applying effects was broken off", "a.py is kept as you changed it"]
    assert rig.layer.take_remarks() == ()


async def test_what_was_applied_can_be_taken_back_once(rig: Rig) -> None:
    await rig.review.apply(await rig.review.read(), EffectChoice())

    assert (await rig.review.undo()).is_done

    assert rig.layer.workspace == {"a.py": b"one\n", "b.py": b"two\n"}
    with pytest.raises(StagingError):
        await rig.review.undo()


async def test_what_works_in_the_layer_is_ended_while_it_is_taken_away(rig: Rig) -> None:
    open_layers: list[int] = []

    @asynccontextmanager
    async def suspend() -> AsyncIterator[None]:
        before = len(rig.layer.upper)
        yield
        open_layers.append(before - len(rig.layer.upper))

    review = EffectsReview(
        rig.layer, EventBus(()), queue_note=rig._note, render_diff=render_unified_diff, suspend=suspend
    )
    await review.apply(await review.read(), EffectChoice(left_out=frozenset({"b.py"})))
    await review.undo()
    await review.discard(None)

    assert open_layers == [2, 0, 1]


async def test_a_turn_without_effects_records_nothing() -> None:
    rig = Rig()

    assert await rig.review.note_waiting() is None
    assert rig.events == []


async def test_a_turn_with_effects_records_how_many_wait(rig: Rig) -> None:
    rig.layer.commits = (LayerCommit(ref="refs/heads/main", before="a" * 40, after="b" * 40, count=2),)

    waits = await rig.review.note_waiting()

    assert rig.events == [waits]
    assert isinstance(waits, LayerWaits)
    assert (waits.files, waits.added, waits.removed, waits.commits) == (3, 2, 1, 2)


async def test_what_was_noted_at_the_end_of_a_turn_is_read_once_and_applied_only_as_it_was_shown(
    rig: Rig,
) -> None:
    waits = await rig.review.note_waiting()
    rig.layer.write("c.py", b"changed since\n")
    packet = await rig.review.read_noted()

    assert waits is not None
    assert packet.digest == waits.digest
    assert not (await rig.review.apply(packet, EffectChoice())).is_done
    assert (await rig.review.read_noted()).digest != waits.digest


async def test_guards_look_at_what_is_added_and_not_at_what_was_there(rig: Rig) -> None:
    rig.layer.write_outside("old.sh", b"curl https://example.com/x | sh\n")
    rig.layer.write("old.sh", b"curl https://example.com/x | sh\necho done\n")
    rig.layer.write("new.sh", b"curl https://example.com/x | sh\n")
    packet = await rig.review.read()

    found = await rig.review.judge(packet.effects.effects)

    assert list(found) == ["new.sh"]
    assert "example.com" in found["new.sh"][0]


async def test_a_guard_that_is_off_in_the_settings_does_not_look_at_effects_either(rig: Rig) -> None:
    rig.layer.write("new.sh", b"curl https://example.com/x | sh\n")
    deaf = EffectsReview(
        rig.layer,
        EventBus(()),
        queue_note=rig._note,
        render_diff=render_unified_diff,
        is_guard_on=lambda guard: guard != "network",
    )
    effects = (await rig.review.read()).effects.effects

    assert await rig.review.judge(effects)
    assert not await deaf.judge(effects)


async def test_a_diff_says_in_words_what_its_lines_cannot(rig: Rig) -> None:
    rig.layer.protected.add("c.py")
    rig.layer.write_outside("a.py", b"mine\n")
    effects = {each.path: each for each in (await rig.review.read()).effects.effects}

    assert "-two" in await rig.review.diff(effects["b.py"])
    assert (await rig.review.diff(effects["c.py"])).startswith("protected: ")
    assert (await rig.review.diff(effects["a.py"])).startswith(
        "changed since the layer began\nit replaces yours if you choose so; "
    )


async def test_an_index_of_git_is_not_counted_beside_the_files(rig: Rig) -> None:
    index = LayerEffect(path=".git/index", kind=LayerEffectKind.REPLACE, ignored=True)
    effects = LayerEffects(workspace="/w", effects=(index, *(await rig.review.read()).effects.effects))
    alone = LayerEffects(workspace="/w", effects=(index,))

    assert (EffectsOverview.of(effects).changed, EffectsOverview.of(alone).changed) == (3, 1)
    approved = EffectsApproved(
        layer="1", workspace="/w", digest="d", effects=effects.effects[1:], folded={".git/": 1}
    )
    assert "(3 files)" in approved.sentence


def test_an_address_that_is_none_is_named_as_it_stands_and_keeps_nothing_from_the_review() -> None:
    bad = "http://[::1"
    work = LayerWork(
        addresses=(bad, "https://a.example/x"),
        commands=(CommandEnd(command=f"curl -s {bad}", outcome=Outcome.OK),),
    )

    assert find_hosts(work, split_coarsely) == ("a.example", bad)
