"""Lines that the person adds to an instruction file: what is asked, refused and recorded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.instructions.project_instructions import Memory
from quorum.application.view.entries import Notice
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError, MemoryRefused
from quorum.domain.events.event import ErrorOccurred, Event, MemoryAdded, MemoryApproved
from quorum.domain.instructions.instruction import InstructionScope, MemoryDraft
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.reviews import a_review


@dataclass
class FakeMemoryFiles:
    """Instruction files by their scope. `refusals` say why one cannot be changed; `gate` holds writing back."""

    contents: dict[InstructionScope, bytes] = field(default_factory=dict)
    refusals: dict[InstructionScope, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def draft(self, line: str, scope: InstructionScope) -> MemoryDraft:
        if scope in self.refusals:
            raise MemoryRefused(self.refusals[scope])
        before = self.contents.get(scope)
        file = f"/{'ws' if scope is InstructionScope.PROJECT else 'home'}/AGENTS.md"
        after = (before or b"") + f"- {line}\n".encode()
        return MemoryDraft(
            scope=scope, file=file, target=file, label=file, line=line, before=before, after=after, diff=""
        )

    async def write(self, draft: MemoryDraft) -> tuple[str, ...]:
        self.reached.set()
        await self.gate.wait()
        if self.contents.get(draft.scope) != draft.before:
            raise MemoryRefused(f"{draft.label} has changed since it was shown; nothing was written")
        self.contents[draft.scope] = draft.after
        return self.notices


class Bench:
    """The use case over files and a ledger that are scripted."""

    def __init__(
        self, *, mode: Mode = Mode.ASK, kind: SessionKind = SessionKind.AGENT, deny: tuple[str, ...] = ()
    ) -> None:
        self.files, self.ledger, self.observer = FakeMemoryFiles(), FakeLedger(), RecordingObserver()
        events = EventBus([self.observer], ledger=self.ledger)
        self.review = a_review(person=FakePerson(), events=events, mode=mode, deny=deny)
        self.memory = Memory(self.files, review=self.review, events=events, kind=kind)

    @property
    def happened(self) -> list[Event]:
        return self.ledger.events


async def test_a_line_is_proposed_for_both_files_and_nothing_happens_before_it_is_approved() -> None:
    bench = Bench()
    proposal = await bench.memory.propose("  use tabs ")

    assert [draft.scope for draft in proposal.drafts] == [InstructionScope.PROJECT, InstructionScope.USER]
    assert {draft.line for draft in proposal.drafts} == {"use tabs"}
    assert (bench.files.contents, bench.happened) == ({}, [])


async def test_an_approved_line_is_announced_written_and_recorded_with_its_digests() -> None:
    bench = Bench()
    bench.files.contents[InstructionScope.PROJECT] = b"Be brief.\n"
    bench.files.notices = ("it is trusted in this session only",)
    draft = (await bench.memory.propose("use tabs")).drafts[0]
    await bench.memory.add(draft)

    assert bench.files.contents[InstructionScope.PROJECT] == b"Be brief.\n- use tabs\n"
    approved, added = bench.happened
    assert approved == MemoryApproved(
        file="/ws/AGENTS.md",
        scope=InstructionScope.PROJECT,
        line="use tabs",
        sha256=draft.sha256,
        former_sha256=draft.former_sha256,
    )
    assert isinstance(added, MemoryAdded)
    assert (added.sha256, added.notices) == (draft.sha256, bench.files.notices)
    assert draft.former_sha256 not in (None, draft.sha256)


@pytest.mark.parametrize("mode", list(Mode))
async def test_only_the_mode_read_only_refuses_it(mode: Mode) -> None:
    bench = Bench(mode=mode)
    if mode is Mode.READ_ONLY:
        with pytest.raises(MemoryRefused, match="the mode is read-only"):
            await bench.memory.propose("use tabs")
    else:
        assert len((await bench.memory.propose("use tabs")).drafts) == 2


async def test_a_mode_chosen_while_the_change_is_shown_counts() -> None:
    bench = Bench()
    draft = (await bench.memory.propose("use tabs")).drafts[0]
    await bench.review.set_mode(Mode.READ_ONLY)

    with pytest.raises(MemoryRefused, match="read-only"):
        await bench.memory.add(draft)
    assert bench.files.contents == {}


async def test_a_rule_that_denies_an_edit_of_the_file_denies_the_line_too() -> None:
    bench = Bench(deny=("write_file(/home/**)",))
    proposal = await bench.memory.propose("use tabs")

    assert [draft.scope for draft in proposal.drafts] == [InstructionScope.PROJECT]
    assert "the rule write_file(/home/**) denies it" in proposal.refusals[0]


async def test_a_session_that_only_looks_adds_nothing() -> None:
    with pytest.raises(MemoryRefused, match="add the line in another tab"):
        await Bench(kind=SessionKind.ASK).memory.propose("use tabs")


async def test_where_one_file_cannot_be_changed_the_other_is_proposed_and_without_any_it_is_refused() -> None:
    bench = Bench()
    bench.files.refusals[InstructionScope.PROJECT] = "AGENTS.md leads out of its folder"
    proposal = await bench.memory.propose("use tabs")
    assert [draft.scope for draft in proposal.drafts] == [InstructionScope.USER]
    assert proposal.refusals == ("AGENTS.md leads out of its folder",)

    bench.files.refusals[InstructionScope.USER] = "there is no home folder"
    with pytest.raises(MemoryRefused, match="leads out of its folder; there is no home folder"):
        await bench.memory.propose("use tabs")


async def test_what_cannot_be_recorded_is_not_written() -> None:
    bench = Bench()
    draft = (await bench.memory.propose("use tabs")).drafts[0]
    bench.ledger.trouble = "the disk is full"

    with pytest.raises(LedgerError, match="the disk is full"):
        await bench.memory.add(draft)
    assert bench.files.contents == {}


async def test_a_file_that_changed_since_it_was_shown_is_left_alone_and_the_failure_is_on_record() -> None:
    bench = Bench()
    draft = (await bench.memory.propose("use tabs")).drafts[0]
    bench.files.contents[InstructionScope.PROJECT] = b"mine\n"

    with pytest.raises(MemoryRefused, match="has changed since it was shown"):
        await bench.memory.add(draft)
    assert bench.files.contents[InstructionScope.PROJECT] == b"mine\n"
    assert [type(event) for event in bench.happened] == [MemoryApproved, ErrorOccurred]


async def test_a_change_that_was_begun_is_made_and_recorded_though_its_tab_closes() -> None:
    bench = Bench()
    draft = (await bench.memory.propose("use tabs")).drafts[0]
    bench.files.gate.clear()
    adding = asyncio.create_task(bench.memory.add(draft))
    await bench.files.reached.wait()
    adding.cancel()
    bench.files.gate.set()
    await asyncio.wait({adding})

    assert bench.files.contents[InstructionScope.PROJECT] == b"- use tabs\n"
    assert [type(event) for event in bench.happened] == [MemoryApproved, MemoryAdded]


async def test_the_model_reads_nothing_of_it_and_the_transcript_says_what_was_added() -> None:
    bench = Bench()
    draft = (await bench.memory.propose("use tabs")).drafts[0]
    await bench.memory.add(replace(draft, line="use tabs"))
    records = [LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(bench.happened)]
    view = SessionView()
    for event in bench.happened:
        view.apply(event)

    assert replay_state(records).messages == ()
    (notice,) = [entry for entry in view.entries if isinstance(entry, Notice)]
    assert notice.text == "added to /ws/AGENTS.md, in effect with the next prompt: use tabs"
