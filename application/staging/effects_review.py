"""The review of what a session did in its layer: what there is to read, and what the person decides of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from quorum.application.cancellation import run_shielded
from quorum.application.event_bus import EventBus
from quorum.application.ports.workspace import Layer
from quorum.application.staging.effects_voting import EffectsPacket
from quorum.application.staging.shared_files import (
    FileAuthors,
    Overlap,
    RenderDiff,
    SharedFiles,
    describe_overlap,
)
from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.calls.effects import FileKind
from quorum.domain.events.event import EffectsApproved, EffectsReviewed, LayerWaits, NoticeGiven
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Vote
from quorum.domain.shell.script import ReadScript, split_coarsely
from quorum.domain.staging.effects_overview import EffectsOverview
from quorum.domain.staging.layer_effects import (
    AppliedEffects,
    EffectChoice,
    LayerEffect,
    LayerEffectKind,
    LayerEffects,
)
from quorum.domain.staging.layer_work import LayerWork
from quorum.domain.staging.planted_programs import describe_planted, may_plant
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable

if TYPE_CHECKING:
    from quorum.application.staging.effects_voting import EffectsVoting
    from quorum.domain.review.objection import Objection

_INDEX = ".git/index"
_HOW_MERGED = "it replaces yours if you choose so; else both are merged, or all is refused"
_MOST_RECORDED = 2_000
_MOST_NAMED = 20
_LONGEST_JUDGED = 256_000
_LONGEST_READ = 400_000
_JUDGES_FOR_SECS = 5.0


async def _merge_nothing() -> None:
    """Where no subagent has a layer of its own."""


class EffectsReview:
    """Reads the effects of a layer, has them applied or dropped, and records each decision.

    `queue_note` has the model read what became of its work; `render_diff` is that by which hunks are counted.
    What files hold for which `is_sensitive` holds is neither put to models nor recorded.
    `suspend` ends what else works in the layer while it is taken away, or holds on to what it was. Without
    `shared_files` it is not known which subagent changed which lines. `merge_left` has the layer hold what
    subagents did whose work could not be merged at its end.
    Nothing of the turn may run meanwhile. All methods raise StagingError, and LedgerError where a decision
    cannot be recorded: then it is not carried out.
    """

    def __init__(  # noqa: PLR0913 - all that a review of effects needs meets here
        self,
        layer: Layer,
        events: EventBus,
        *,
        queue_note: Callable[[str], Awaitable[None]],
        render_diff: RenderDiff,
        read_script: ReadScript = split_coarsely,
        is_guard_on: Callable[[str], bool] = lambda _guard: True,
        is_sensitive: Callable[[str], bool] = lambda _path: False,
        voting: EffectsVoting | None = None,
        suspend: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        shared_files: SharedFiles | None = None,
        merge_left: Callable[[], Coroutine[object, object, None]] = _merge_nothing,
    ) -> None:
        self._layer, self._events = layer, events
        self._queue_note, self._render_diff, self._read_script = queue_note, render_diff, read_script
        self._is_guard_on, self._voting, self._suspend = is_guard_on, voting, suspend
        self._is_sensitive = is_sensitive
        self._shared_files, self._merge_left = shared_files, merge_left
        self._noted: EffectsPacket | None = None
        self._told: set[Overlap] = set()

    @property
    def layer_id(self) -> str:
        return self._layer.id

    async def read(self) -> EffectsPacket:
        """What there is to review now."""
        await self.merge_left()
        return await self._build_packet(await self._layer.read_effects())

    async def read_noted(self) -> EffectsPacket:
        """The same at the end of a turn: what was noted there is not read twice. Where it is another by now,
        applying it is refused."""
        noted, self._noted = self._noted, None
        return noted or await self.read()

    async def merge_left(self) -> None:
        """Merge what subagents left, as far as that can be. Raises LedgerError."""
        await run_shielded(self._merge_left())

    async def _build_packet(self, effects: LayerEffects) -> EffectsPacket:
        work = self._events.state.layer
        hosts = await asyncio.to_thread(find_hosts, work, self._read_script)
        return EffectsPacket(effects=effects, work=work, hosts=hosts)

    async def note_files(self, upper: str = "") -> None:
        """Keep what files held that were changed, in case the person changes them, too."""
        await self._layer.note_files(upper)

    async def note_waiting(self) -> LayerWaits | None:
        """Record that effects wait, at the end of a turn; None where there are none."""
        self._noted = packet = await self.read()
        effects = packet.effects
        if effects.is_empty:
            return None
        overview = EffectsOverview.of(effects)
        waits = LayerWaits(
            layer=self._layer.id,
            digest=packet.digest,
            files=overview.changed,
            added=overview.added,
            removed=overview.removed,
            commits=sum(commit.count for commit in effects.commits),
            conflicts=overview.conflicts,
            unmerged=len(effects.unmerged),
        )
        await self._events.record(waits)
        return waits

    async def diff(self, effect: LayerEffect) -> str:
        """What applying an effect changes in its file, as a unified diff, or in words where it is none."""
        words = list_remarks(effect)
        before = await self._layer.read_content(effect.renamed_from or effect.path, before=True)
        after = await self._layer.read_content(effect.path, before=False)
        before = None if effect.kind is LayerEffectKind.CREATE and not effect.renamed_from else before
        after = None if effect.kind is LayerEffectKind.DELETE else after
        # A line break in a name would look like one of the diff, and be counted with its hunks.
        name = make_printable(effect.path, newlines=False)
        text = await asyncio.to_thread(self._render_diff, before, after, name)
        if not text and not words:
            words = ["its content is too large to be shown, or it is no file"]
        return "".join(f"{word}\n" for word in words) + text

    async def find_authors(self, packet: EffectsPacket, effect: LayerEffect) -> FileAuthors | None:
        """Who did what to a file that a subagent and somebody else changed; None where that is not known."""
        place = packet.locate(effect.path)
        if self._shared_files is None or place not in packet.work.shared:
            return None
        before = await self._layer.read_content(effect.path, before=True)
        after = await self._layer.read_content(effect.path, before=False)
        return await self._shared_files.find_authors(packet.work, place, before or b"", after or b"")

    async def render_steps(self, packet: EffectsPacket, effect: LayerEffect) -> str:
        """What each who changed such a file did to it, one diff below the other; empty where it is none."""
        if self._shared_files is None:
            return ""
        name = make_printable(effect.path, newlines=False)
        return await self._shared_files.render_steps(packet.work, packet.locate(effect.path), name)

    async def tell_of_overlaps(self, subagent_id: str, tell: Callable[[str], Awaitable[None]]) -> None:
        """Have this subagent, and its session, read where it replaced lines of one that works beside it."""
        work = self._events.state.layer
        if self._shared_files is None or not any(each.beside for each in work.changes):
            return
        for overlap in await self._shared_files.find_overlaps(work):
            if overlap.winner_id != subagent_id or overlap in self._told:
                continue
            self._told.add(overlap)
            await tell(describe_overlap(overlap, subagent_id))
            await self._queue_note(describe_overlap(overlap, ""))

    async def judge(self, effects: Sequence[LayerEffect]) -> Mapping[str, tuple[str, ...]]:
        """What the guards have against what is added to files, by path; a file that is very large, and those
        that seconds do not suffice for, are not looked at."""
        until = time.monotonic() + _JUDGES_FOR_SECS
        found = dict(await self._find_planted(effects))
        for effect in effects:
            if time.monotonic() > until:
                break
            if not _has_content(effect):
                continue
            before = await self._layer.read_content(effect.renamed_from or effect.path, before=True)
            after = await self._layer.read_content(effect.path, before=False)
            if after is None or b"\0" in after:
                continue
            if objections := await asyncio.to_thread(self._object, effect.path, before or b"", after):
                reasons = dict.fromkeys((*found.get(effect.path, ()), *(each.reason for each in objections)))
                found[effect.path] = tuple(reasons)
        return found

    async def _find_planted(self, effects: Sequence[LayerEffect]) -> Mapping[str, tuple[str, ...]]:
        """What files have other programs start later, where no layer is."""
        found: dict[str, tuple[str, ...]] = {}
        for effect in effects:
            if effect.kind is LayerEffectKind.DELETE or not may_plant(effect.path):
                continue
            before = await self._layer.read_content(effect.renamed_from or effect.path, before=True)
            after = await self._layer.read_content(effect.path, before=False)
            if after is None and effect.after is not None and effect.after.target is not None:
                after = os.fsencode(effect.after.target)
            if after is not None and (planted := describe_planted(effect.path, before or b"", after)):
                found[effect.path] = planted
        return found

    def _object(self, path: str, before: bytes, after: bytes) -> Sequence[Objection]:
        from quorum.domain.review.effects.tool_calls import list_objections, reduce_tool_call

        old, new = (content.decode("utf-8", "replace") for content in (before, after))
        edit = {"path": path, "old_text": old, "new_text": new}
        found = list_objections(reduce_tool_call("write_file", edit, self._read_script))
        return tuple(each for each in found if self._is_guard_on(each.guard))

    async def render_diffs(self, packet: EffectsPacket, longest: int) -> Mapping[str, str]:
        """The diff of each file of the effects, by path, until there are so many characters; without those of
        sensitive files."""
        diffs, room = dict[str, str](), longest
        for effect in EffectsOverview.of(packet.effects).files:
            if room <= 0:
                break
            if not self._is_sensitive(packet.locate(effect.path)):
                diffs[effect.path] = await self.diff(effect)
                room -= len(diffs[effect.path])
        return diffs

    @property
    def has_reviewers(self) -> bool:
        """Whether models vote on effects here."""
        return self._voting is not None and self._voting.has_reviewers

    async def vote(self, packet: EffectsPacket) -> EffectsPacket:
        """Have the reviewers vote on it, who read what the person does; the packet with their votes.

        Votes that are on record are not asked for again, but where all reviewers failed.
        """
        if self._voting is None or not self.has_reviewers or not packet.effects.can_be_applied:
            return packet
        if packet.votes is not None and any(vote.verdict != Vote.ERROR for vote in packet.votes.votes):
            return packet
        files = EffectsOverview.of(packet.effects).files
        objections = await self.judge(files)
        diffs = await self.render_diffs(packet, _LONGEST_READ)
        unshown = len(files) - len(diffs)
        votes = await self._voting.vote(self.layer_id, packet, objections, diffs, unshown=unshown)
        return replace(packet, work=replace(packet.work, votes=votes))

    # ------------------------------------------------------------------------------------- decisions

    async def apply(self, packet: EffectsPacket, choice: EffectChoice) -> AppliedEffects:
        """Have what was chosen of these effects applied: all of it, or nothing."""
        effects, overview = packet.effects, EffectsOverview.of(packet.effects)
        left = choice.left_out
        chosen = [each for each in overview.files if each.path not in left]
        folded = {tree.name: sum(path not in left for path in tree.paths) for tree in overview.trees}
        folded |= {"…": len(chosen) - _MOST_RECORDED} if len(chosen) > _MOST_RECORDED else {}
        await self._events.announce(
            EffectsApproved(
                layer=self._layer.id,
                workspace=effects.workspace,
                digest=packet.digest,
                effects=tuple(chosen[:_MOST_RECORDED]),
                folded={name: files for name, files in folded.items() if files},
                commits=tuple(each for each in effects.commits if each.ref not in left),
                left_out=tuple(sorted(left))[:_MOST_RECORDED],
                hunks={path: tuple(sorted(hunks)) for path, hunks in sorted(choice.hunks.items()) if hunks},
                overwritten=tuple(sorted(choice.overwrite)),
            )
        )
        return await run_shielded(self._carry_out(packet, choice))

    async def _carry_out(self, packet: EffectsPacket, choice: EffectChoice) -> AppliedEffects:
        async with self._change():
            applied = await self._layer.apply(choice, packet.effects.digest)
        decision = EffectsDecision.APPLIED if applied.is_done else EffectsDecision.REFUSED
        await self._record(decision, applied, packet.digest)
        if applied.is_done:
            partly = [*sorted(choice.left_out), *(path for path, hunks in choice.hunks.items() if hunks)]
            await self._queue_note(describe_applied(partly))
        return applied

    @asynccontextmanager
    async def _change(self) -> AsyncIterator[None]:
        """Meanwhile nothing else works in the layer; what it says of an earlier change is on record after."""
        try:
            async with self._suspend():
                yield
        finally:
            for remark in self._layer.take_remarks():
                await self._events.record(NoticeGiven(message=remark))

    async def reject(self, packet: EffectsPacket, words: str) -> None:
        """Leave all in the layer, where the model continues with these words of the person."""
        await self._events.announce(
            EffectsReviewed(
                layer=self._layer.id, decision=EffectsDecision.REJECTED, digest=packet.digest, words=words
            )
        )
        count = format_amount(len(packet.effects.effects), "changed file")
        await self._queue_note(
            f"The person has reviewed the {count} in the layer and has applied nothing of it yet. All of it is "
            "still there: continue with it as they say next."
        )

    async def discard(self, packet: EffectsPacket | None) -> None:
        """Drop all effects, None where they cannot be read."""
        await run_shielded(self._discard(packet))

    async def _discard(self, packet: EffectsPacket | None) -> None:
        async with self._change():
            await self._layer.discard()
        digest = packet.digest if packet is not None else ""
        await self._record(EffectsDecision.DISCARDED, AppliedEffects(), digest)
        await self._queue_note(
            "The person has discarded all changes in the layer: every file is as it was before them. Read "
            "files again before you edit them."
        )

    async def undo(self) -> AppliedEffects:
        """Take back out of the workspace what was applied last."""
        return await run_shielded(self._undo())

    async def _undo(self) -> AppliedEffects:
        async with self._change():
            undone = await self._layer.undo_apply()
        await self._record(
            EffectsDecision.UNDONE if undone.is_done else EffectsDecision.REFUSED, undone, digest=""
        )
        if undone.is_done:
            await self._queue_note(
                "The person has taken back the changes that were applied last: "
                f"{_name(undone.paths)} {'is' if len(undone.paths) == 1 else 'are'} as before, here, too. "
                "Only the person can apply them again."
            )
        return undone

    async def redo(self) -> AppliedEffects:
        """Apply again what was taken back last: it was approved before, and is what it was."""
        return await run_shielded(self._redo())

    async def _redo(self) -> AppliedEffects:
        async with self._change():
            redone = await self._layer.redo_apply()
        await self._record(
            EffectsDecision.REDONE if redone.is_done else EffectsDecision.REFUSED, redone, digest=""
        )
        if redone.is_done:
            await self._queue_note(
                "The person has applied the changes again that they had taken back: "
                f"{_name(redone.paths)} {'is' if len(redone.paths) == 1 else 'are'} as applied before."
            )
        return redone

    async def _record(self, decision: EffectsDecision, applied: AppliedEffects, digest: str) -> None:
        await self._events.record(
            EffectsReviewed(
                layer=self._layer.id,
                decision=decision,
                digest=digest,
                files=sum(path != _INDEX for path in applied.paths) or len(applied.paths),
                refs=len(applied.refs),
                refused=dict(list(applied.refused.items())[:_MOST_RECORDED]),
            )
        )


def _has_content(effect: LayerEffect) -> bool:
    """Whether an effect puts text into a file, as far as is worth looking at."""
    writes = effect.kind in (LayerEffectKind.CREATE, LayerEffectKind.REPLACE)
    return writes and effect.after is not None and 0 < effect.after.size <= _LONGEST_JUDGED


def list_remarks(effect: LayerEffect) -> list[str]:
    """What no line of a diff can say of an effect, a sentence each."""
    before, after = effect.before, effect.after
    remarks = [f"renamed from {effect.renamed_from}"] if effect.renamed_from else []
    if effect.conflict:
        remarks.append(effect.conflict)
        if before is not None and after is not None and before.kind is after.kind is FileKind.FILE:
            remarks.append(_HOW_MERGED)
    if effect.protected:
        remarks.append("protected: it can act on its own; it is applied only if you take it in")
    if effect.kind is LayerEffectKind.OTHER:
        remarks.append("neither file, link nor folder: it is never applied")
    if after is not None and after.target is not None:
        remarks.append(f"a link to {after.target}")
    elif before is not None and before.target is not None:
        remarks.append(f"it was a link to {before.target}")
    if before is not None and after is not None and before.mode != after.mode:
        remarks.append(f"mode {before.mode:04o}, now {after.mode:04o}")
    elif effect.kind is LayerEffectKind.MODE:
        remarks.append("its owner, access list or attributes change, and nothing else")
    elif before is None and after is not None and after.mode & 0o111 and after.target is None:
        remarks.append(f"executable, mode {after.mode:04o}")
    return remarks


def describe_applied(left: Sequence[str]) -> str:
    """What the model reads of an approval."""
    kept = f" What is left out stays in the layer: {_name(left)}." if left else ""
    return f"The person has reviewed the changes in the layer and applied them to their folder.{kept}"


def _name(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more if paths else "nothing"


def find_hosts(work: LayerWork, read_script: ReadScript) -> tuple[str, ...]:
    """The hosts that commands and tools asked for, as far as their words say so; in order, each once."""
    found = dict.fromkeys(map(_name_host, work.addresses))
    for command in work.commands:
        found.update(dict.fromkeys(_list_hosts(command, read_script)))
    return tuple(sorted(found))


def _list_hosts(command: CommandEnd, read_script: ReadScript) -> Iterator[str]:
    from quorum.domain.review.effects.reduction import reduce_command
    from quorum.domain.review.effects.side_effect import EffectKind

    for effect in reduce_command(command.command, read_script):
        place = effect.place
        is_remote = effect.kind is EffectKind.CONNECT or (effect.kind is EffectKind.SEND and "@" in place)
        if place and is_remote:
            yield _name_host(place)


def _name_host(address: str) -> str:
    """The host of an address; the address itself where it names none, or is no address at all."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(address).netloc or address
    except ValueError:
        return address
