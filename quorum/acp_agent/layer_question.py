"""The review of effects at the end of a turn in a layer, as a permission request: no answer applies nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from typing import Any

from acp.schema import PermissionOption

from quorum.acp_agent.client_approver import VOTES_SECS, ClientApprover, Elicit, wait_for
from quorum.acp_agent.server_questions import read_answer
from quorum.acp_agent.standard_io import Outbox
from quorum.acp_agent.tool_calls import (
    CallContent,
    build_text_content,
    convert_json,
    fence,
    render_diff,
    show_line,
)
from quorum.acp_agent.update_feed import build_message, build_notice
from quorum.application.export.effects_report import encode_packet, render_effects
from quorum.application.staging.effects_review import EffectsReview
from quorum.application.staging.effects_voting import EffectsPacket
from quorum.domain.errors import QuorumError
from quorum.domain.mcp.server_question import FieldKind, FormField, ServerForm
from quorum.domain.replacing import replace
from quorum.domain.staging.effects_overview import EffectsOverview, list_choices, name_row
from quorum.domain.staging.layer_effects import EffectChoice, LayerEffect, LayerEffectKind
from quorum.domain.text.amounts import format_amount

APPLY, KEEP, REPLY, DISCARD = "apply-effects", "keep-effects", "reply-to-effects", "discard-effects"
WAITS = "the changes wait in the layer: /effects asks again, and the next prompt continues there"
NOTHING = "nothing waits in the layer for your review"
_MOST_DIFFS = 20
_LONGEST_DIFF, _LONGEST_DIFFS = 20_000, 200_000
_LONGEST_TITLE, _MOST_NAMED, _MOST_SINGLE = 600, 5, 10


class LayerQuestion:
    """Has the client asked what becomes of the changes in the layer of a session. `takes_words`: `elicit` can
    put a question that is answered with words."""

    def __init__(
        self,
        review: EffectsReview,
        mask: Callable[[str], str],
        approver: ClientApprover,
        outbox: Outbox,
        *,
        elicit: Elicit,
        takes_words: bool,
    ) -> None:
        self._review, self._mask, self._approver, self._outbox = review, mask, approver, outbox
        self._elicit, self._takes_words = elicit, takes_words
        self._seen = ""
        """The digest of what was asked about last: the same is not asked about again unbidden."""

    async def ask_at_end(self) -> str:
        """Ask at the end of a turn, where other changes wait than before. Returns the words with which the
        person sends them back, as the next prompt; empty where they do not."""
        return await self._ask(is_bidden=False)

    async def ask_again(self) -> str:
        """The same for whatever waits."""
        return await self._ask(is_bidden=True)

    async def _ask(self, *, is_bidden: bool) -> str:
        review = self._review
        try:
            packet = await (review.read() if is_bidden else review.read_noted())
            if packet.effects.is_empty:
                if is_bidden:
                    self._outbox.put(build_message(NOTHING))
                return ""
            if not is_bidden and packet.effects.digest == self._seen:
                return ""
            self._seen = packet.effects.digest
            return await self._pose(packet)
        except QuorumError as error:  # nothing was applied, or the ledger says what was
            self._outbox.put(build_notice(str(error)))
            return ""

    async def _pose(self, packet: EffectsPacket) -> str:
        review = self._review
        async with _voted(review, packet) as voted:
            shown = EffectsToReview(review, voted, self._mask)
            answer = await self._put(shown)
            choice = await self._take_in_protected(shown) if answer == APPLY else None
        match answer:
            case "apply-effects" if choice is not None:
                applied = await review.apply(voted, choice)
                if not applied.is_done:
                    self._outbox.put(build_notice(f"{shown.describe_remedy(applied.refused)}; {WAITS}"))
            case "discard-effects":
                await review.discard(voted)
            case "reply-to-effects" if words := await self._ask_for_words():
                await review.reject(voted, words)
                return words
            case _:
                self._outbox.put(build_notice(WAITS))
        return ""

    async def _put(self, shown: EffectsToReview) -> str:
        """The id of the option that was chosen."""
        objections = await shown.find_objections()
        text, title = shown.render(objections), shown.render_title(objections)
        diffs = await shown.list_diffs()
        options = shown.list_options(takes_words=self._takes_words)
        if not self._approver.shows_option_names:  # it may draw no more than a diff
            self._outbox.put(build_notice(f"asks what becomes of these changes:\n{text}"))
        if not self._approver.shows_titles_of_edits and diffs:
            options[0].name += f": {title}"
        content = [build_text_content(fence(text)), *diffs]
        return await self._approver.pose(
            title, content, self._approver.limit_options(options), shown.describe()
        )

    async def _take_in_protected(self, shown: EffectsToReview) -> EffectChoice | None:
        """The choice with those of the protected files that the person approves, one by one; None where an
        answer is none."""
        taken = set[str]()
        for effect in shown.list_protected():
            title = f"Apply {show_line(effect.path)}, too? It can act on its own, or change what may run"
            options = [
                PermissionOption(option_id=APPLY, name="Apply it, too", kind="allow_once"),
                PermissionOption(option_id=KEEP, name="Leave it in the layer", kind="reject_once"),
            ]
            answer = await self._approver.pose(title, await shown.render_effect(effect), options)
            if answer not in (APPLY, KEEP):
                return None
            taken |= {effect.path} if answer == APPLY else set()
        return shown.take_in(taken)

    async def _ask_for_words(self) -> str:
        """What the person writes to the model; empty where they do not."""
        if (asked := self._elicit(WORDS)) is None or (response := await wait_for(asked)) is None:
            return ""
        return str(read_answer(WORDS, response).values.get(_FIELD, "")).strip()


_FIELD = "words"
WORDS = ServerForm(
    server="",
    call="Send the changes back",
    message="What is the model to do about these changes? It continues in the layer.",
    fields=(FormField(name=_FIELD, title="In your own words", kind=FieldKind.TEXT),),
)


class EffectsToReview:
    """What there is to read about a packet, and the choice that an approval stands for."""

    def __init__(self, review: EffectsReview, packet: EffectsPacket, mask: Callable[[str], str]) -> None:
        self._review, self._packet, self._mask = review, packet, mask
        self.overview = EffectsOverview.of(packet.effects)
        self.choice = self.overview.find_first_choice()

    def list_protected(self) -> tuple[LayerEffect, ...]:
        """The files that are approved one by one; of very many those that a person is likely to look at."""
        found = [row for row in self.overview.files if row.protected and row.kind is not LayerEffectKind.OTHER]
        return tuple(found[:_MOST_SINGLE])

    def take_in(self, taken: Set[str]) -> EffectChoice | None:
        """The choice with these files; None where nothing would be applied."""
        left = self.choice.left_out - taken
        if all(left.issuperset(list_choices(row)) for row in self.overview.rows):
            return None
        return replace(self.choice, left_out=left)

    async def find_objections(self) -> Mapping[str, tuple[str, ...]]:
        """What guards have against the files, by path."""
        return await self._review.judge(self.overview.files)

    def render(self, objections: Mapping[str, Sequence[str]]) -> str:
        """All of it, a line for each file."""
        return render_effects(self._review.layer_id, self._packet, self._mask, objections)

    def render_title(self, objections: Mapping[str, Sequence[str]]) -> str:
        """What many clients show alone, with what speaks against it first."""
        packet, overview = self._packet, self.overview
        failed = sum(command.failed for command in packet.work.commands)
        against = [packet.votes.count] if packet.votes is not None else []
        against += [f"guards object to {', '.join(objections)}"] if objections else []
        against += [f"{overview.conflicts:,} changed by you too"] if overview.conflicts else []
        against += [f"{format_amount(failed, 'command')} failed"] if failed else []
        protected = [row.path for row in self.list_protected()]
        against += [f"asked about singly: {', '.join(protected[:_MOST_NAMED])}"] if protected else []
        against += [f"not held back: {words}" for words in packet.effects.not_captured]
        marked = f"[{'; '.join(against)}] " if against else ""
        names = [name_row(row) for row in overview.rows]
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        title = f"{marked}Apply to your folder: {overview.summary} ({', '.join(names[:_MOST_NAMED])}{more})"
        return show_line(self._mask(title), _LONGEST_TITLE)

    async def list_diffs(self) -> list[CallContent]:
        """The files that are small, as diffs, as many as a client is likely to draw."""
        shown: list[CallContent] = []
        room = _LONGEST_DIFFS
        for effect in self.overview.files[:_MOST_DIFFS]:
            diff = await self._read_diff(effect)
            if len(diff) <= min(room, _LONGEST_DIFF):
                room -= len(diff)
                shown += render_diff(diff, self._packet.effects.workspace)
        return shown

    async def render_effect(self, effect: LayerEffect) -> list[CallContent]:
        """All of one file."""
        diff = await self._read_diff(effect)
        return [*render_diff(diff, self._packet.effects.workspace), build_text_content(fence(diff, "diff"))]

    async def _read_diff(self, effect: LayerEffect) -> str:
        return self._mask(await self._review.diff(effect))

    def list_options(self, *, takes_words: bool) -> list[PermissionOption]:
        """The first of a kind is the safest: clients may show no other."""
        options = [PermissionOption(option_id=KEEP, name="Decide later: the changes wait", kind="reject_once")]
        if self._packet.effects.can_be_applied:
            apply = PermissionOption(option_id=APPLY, name="Apply to your folder", kind="allow_once")
            options.insert(0, apply)
        if takes_words:
            options.append(PermissionOption(option_id=REPLY, name="Send back with words", kind="reject_once"))
        discard = PermissionOption(option_id=DISCARD, name="Discard all of it for good", kind="reject_once")
        return [*options, discard]

    def describe(self) -> dict[str, Any]:
        """The same for programs, as `quorum staged show --json` prints it."""
        encoded = encode_packet(self._review.layer_id, self._packet, self._mask)
        return {"quorum": {"digest": self._packet.digest, "effects": convert_json(encoded)}}

    def describe_remedy(self, refused: Mapping[str, str]) -> str:
        """What can be done about a refusal, whose reasons stand in the session."""
        conflicts = {row.path for row in self.overview.files if row.conflict}
        if conflicts & refused.keys():
            return "files that you changed, too, are replaced by quorum staged apply --overwrite PATH"
        return "nothing was applied, and the reasons stand above"


@asynccontextmanager
async def _voted(review: EffectsReview, packet: EffectsPacket) -> AsyncIterator[EffectsPacket]:
    """The packet with the votes on it, as far as they come within a while; later ones are recorded as long as
    the person decides."""
    if not review.has_reviewers:
        yield packet
        return
    voting = asyncio.ensure_future(review.vote(packet))
    try:
        await asyncio.wait({voting}, timeout=VOTES_SECS)
        yield voting.result() if voting.done() else packet
    finally:
        voting.cancel()
        with suppress(asyncio.CancelledError, QuorumError):
            await voting
