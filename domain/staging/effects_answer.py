"""The review of effects as a question answered elsewhere: its packet, votes, and what the answer chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.errors import StagingError
from quorum.domain.review.ballot import explain_vote, format_reviewer
from quorum.domain.review.quorum_result import VoteRecord
from quorum.domain.staging.effects_overview import EffectsOverview, list_choices, name_row
from quorum.domain.staging.layer_effects import EffectChoice, LayerEffects
from quorum.domain.text.amounts import format_amount, format_confidence
from quorum.domain.text.json_value import JsonObject

APPLY_CHANGES = "apply changes"
"""What the packet of such a review has in place of a tool: no tool can have a name with a space."""
_BATCH = "effects"


class EffectNames(Struct, frozen=True, kw_only=True):
    """What an answer may name: the lines of the review, each with the paths or the ref that it stands for, and
    which of these are protected, or changed by the person, too."""

    rows: Mapping[str, tuple[str, ...]]
    protected: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, effects: LayerEffects) -> EffectNames:
        overview = EffectsOverview.of(effects)
        conflicts = {each.path for each in overview.files if each.conflict}
        return cls(
            rows={name_row(row): list_choices(row) for row in overview.rows},
            protected=frozenset(effect.path for effect in overview.files if effect.protected),
            conflicts=frozenset(conflicts | {each.ref for each in overview.commits if each.conflict}),
        )

    def find(self, names: Iterable[str]) -> frozenset[str]:
        """What these names stand for: lines, paths, refs, folders for all below them. Raises StagingError."""
        return self._find(names, None, "among the changes")

    def find_protected(self, names: Iterable[str]) -> frozenset[str]:
        return self._find(names, self.protected, "a protected file among the changes")

    def find_conflicts(self, names: Iterable[str]) -> frozenset[str]:
        return self._find(names, self.conflicts, "in conflict with your own changes")

    def _find(self, names: Iterable[str], among: frozenset[str] | None, what: str) -> frozenset[str]:
        known = {path for paths in self.rows.values() for path in paths} if among is None else among
        found: set[str] = set()
        for name in names:
            folder = f"{name.removeprefix('./').rstrip('/')}/"
            below = {path for path in known if path == folder[:-1] or path.startswith(folder)}
            below |= known & {*self.rows.get(name, ())}
            if not below:
                raise StagingError(f"{name} is not {what}: name it as the review does")
            found |= below
        return frozenset(found)


class EffectsAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody says to the effects of a layer: all are dropped where it `discards`, else applied but for
    what is `left_out`; of protected files those `included` alone, and those `overwritten` in place of what the
    person changed there."""

    left_out: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    discards: bool = False

    def encode(self) -> str:
        """A text that `decode` reads."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def decode(encoded: str) -> EffectsAnswer:
        """The answer that `encode` made this text of. Raises StagingError."""
        try:
            return msgspec.json.decode(encoded, type=EffectsAnswer)
        except msgspec.MsgspecError as error:
            raise StagingError(f"the answer cannot be read: {error}") from error

    def check(self, names: EffectNames) -> None:
        """Raise StagingError where it names something that is none of the changes."""
        names.find(self.left_out)
        names.find_protected(self.included)
        names.find_conflicts(self.overwritten)

    def choose(self, effects: LayerEffects) -> EffectChoice:
        """What it has applied. Raises StagingError as `check` does."""
        names, first = EffectNames.of(effects), EffectsOverview.of(effects).find_first_choice()
        return EffectChoice(
            left_out=(first.left_out - names.find_protected(self.included)) | names.find(self.left_out),
            overwrite=names.find_conflicts(self.overwritten),
        )


class EffectsQuestion(Struct, frozen=True, kw_only=True):
    """What is put to review at the end of a turn: `digest` is that of the effects, `text` all of them in lines,
    and `summary` one line of it. The layer lies on `machine`."""

    layer: str
    machine: str
    digest: str
    summary: str
    text: str
    names: EffectNames

    def build_packet(self, workspace: str, diff: str, attempt: int) -> ReviewPacket:
        """The packet whose digest an answer names. `attempt` counts the questions about effects of the session
        that were answered before: an answer to one is none to another."""
        arguments: JsonObject = {
            "summary": self.summary,
            "layer": self.layer,
            "machine": self.machine,
            "effects": self.digest,
            "review": self.text,
            "rows": list(self.names.rows),
            "protected": sorted(self.names.protected),
            "conflicts": sorted(self.names.conflicts),
        }
        call_id = f"{_BATCH}-{attempt}"
        return ReviewPacket(
            call=ToolCall(native_id=call_id, tool_name=APPLY_CHANGES, arguments=arguments),
            context=ToolExecutionContext(call_id=call_id, batch_id=_BATCH, call_index=0, turn_index=attempt),
            seal=Seal(cwd=workspace, diff=diff),
        )


def is_about_effects(context: ToolExecutionContext) -> bool:
    """Whether a review is about what a layer holds, and not about a call."""
    return context.batch_id == _BATCH


def find_effects_question(tool: str, arguments: object) -> EffectsQuestion | None:
    """What a packet asks about effects, as far as it shows it; None where it is about a call."""
    if tool != APPLY_CHANGES or not isinstance(arguments, Mapping):
        return None

    def read_text(name: str) -> str:
        return text if isinstance(text := arguments.get(name), str) else ""

    return EffectsQuestion(
        layer=read_text("layer"),
        machine=read_text("machine"),
        digest=read_text("effects"),
        summary=read_text("summary"),
        text=read_text("review"),
        names=EffectNames(
            rows={row: (row.rstrip("/"),) for row in _read_names(arguments.get("rows"))},
            protected=frozenset(_read_names(arguments.get("protected"))),
            conflicts=frozenset(_read_names(arguments.get("conflicts"))),
        ),
    )


def _read_names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else ()


class EffectsVotes(Struct, frozen=True, kw_only=True):
    """The votes on the effects of this digest, which are advice: nothing is applied or dropped for them.

    `count` is how the votes came to the `verdict` (approved, rejected or unclear), in words. `quoted` names, by
    reviewer, the file in which the text stands that it objects to. `unshown` counts files of which they were
    shown no content.
    """

    digest: str
    verdict: str
    count: str
    votes: tuple[VoteRecord, ...] = ()
    quoted: Mapping[str, str] = field(default_factory=dict)
    unshown: int = 0

    @property
    def sentence(self) -> str:
        """What the votes came to, in a sentence."""
        unshown = (
            f"; the content of {format_amount(self.unshown, 'file')} was not shown" if self.unshown else ""
        )
        return f"the models on the effects {self.digest[:12]}: {self.count}{unshown}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The votes, a line each."""
        return tuple(map(self.describe, self.votes))

    def describe(self, vote: VoteRecord) -> str:
        """One vote with its reason, and with what it objects to, in one line."""
        sure = "" if vote.confidence is None else f" ({format_confidence(vote.confidence)} sure)"
        explained = explain_vote(vote.verdict, vote.in_scope, vote.reasoning or "no reason given")
        place = self.quoted.get(vote.model)
        found = f"in {place} it objects to" if place else "it objects to what stands in no file that was shown"
        quote = f"; {found}: {vote.objection}" if vote.objection else ""
        said = f"{format_reviewer(vote.model, vote.lens)} {vote.verdict}{sure}: {explained}{quote}"
        return " ".join(said.split())
