"""Events of sessions that work in a layer over their workspace: its beginning, and the review of effects."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import UNSET, UnsetType, field

from quorum.domain.fact import Fact
from quorum.domain.staging.effects_answer import EffectsVotes
from quorum.domain.staging.layer_effects import LayerCommit, LayerEffect
from quorum.domain.text.amounts import format_amount

_MOST_NAMED = 8


class LayerEntered(Fact, frozen=True, kw_only=True, tag="layer_entered"):
    """From now on the session works in this layer: what it changes in the workspace waits there for a review.

    `notices` are sentences about what was found in it and what it does not hold. It lies on `machine`, which
    earlier records do not name.
    """

    layer: str
    workspace: str
    machine: str | UnsetType = UNSET
    notices: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What holds now, in a sentence."""
        held = f"your folder stays as it is: what changes waits for your review (layer {self.layer})"
        return "; ".join((held, *self.notices))


class LayerWaits(Fact, frozen=True, kw_only=True, tag="layer_waits"):
    """A turn ended, and its effects wait in the layer. `digest` is that of all of them; of the work of
    `unmerged` subagents nothing is in the layer yet."""

    layer: str
    digest: str
    files: int
    added: int = 0
    removed: int = 0
    commits: int = 0
    conflicts: int = 0
    unmerged: int = 0

    @property
    def sentence(self) -> str:
        """What waits, in a sentence."""
        apart = f"what {format_amount(self.unmerged, 'subagent')} changed is not merged"
        if not self.files and not self.commits and self.unmerged:
            return f"{apart} and waits for your review (layer {self.layer}); your folder is as it was before"
        changed = [format_amount(self.commits, "commit")] if self.commits else []
        if self.files:
            files = format_amount(self.files, "changed file")
            changed.insert(0, f"{files} (+{self.added:,} −{self.removed:,})")
        conflicts = f"; {self.conflicts:,} in conflict with yours" if self.conflicts else ""
        waits = "waits" if self.files + self.commits == 1 else "wait"
        held = f"{' and '.join(changed) or 'moved refs'} {waits} for your review (layer {self.layer})"
        unmerged = f"; {apart}" if self.unmerged else ""
        return f"{held}; your folder is as it was before{conflicts}{unmerged}"


class EffectsVoted(Fact, frozen=True, kw_only=True, tag="effects_voted"):
    """Reviewers voted on what waits in this layer."""

    layer: str
    votes: EffectsVotes

    @property
    def sentence(self) -> str:
        """What the votes came to, in a sentence."""
        return self.votes.sentence

    @property
    def details(self) -> str:
        """The votes, a line each."""
        return "\n".join(self.votes.lines)


class EffectsApproved(Fact, frozen=True, kw_only=True, tag="effects_approved"):
    """The person approved the effects of this digest but for what is left out; they are applied next.

    `effects` has what is applied, as far as it has a line of its own; `folded` counts the files that do not, by
    the folder that stands for them. `left_out` are paths and refs, `hunks` the numbers of those left out of a
    file, `overwritten` the paths and refs where the layer's state takes the place of the person's.
    """

    layer: str
    workspace: str
    digest: str
    effects: tuple[LayerEffect, ...] = ()
    folded: Mapping[str, int] = field(default_factory=dict)
    commits: tuple[LayerCommit, ...] = ()
    left_out: tuple[str, ...] = ()
    hunks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    overwritten: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What was approved, in a sentence."""
        folded = [files for name, files in self.folded.items() if not name.startswith(".git/")]
        files = len(self.effects) + sum(folded) or sum(self.folded.values())
        commits = f", {format_amount(len(self.commits), 'ref')}" if self.commits else ""
        left = f"; left out: {_name(self.left_out)}" if self.left_out else ""
        parts = f"; parts left out of {_name(tuple(self.hunks))}" if self.hunks else ""
        over = f"; in place of your own changes: {_name(self.overwritten)}" if self.overwritten else ""
        approved = f"you approved the effects {self.digest[:12]}"
        return f"{approved} ({format_amount(files, 'file')}{commits}){left}{parts}{over}"

    @property
    def details(self) -> str:
        """The paths, with the marks of their contents."""
        lines = [_describe(effect) for effect in self.effects]
        lines += [f"{folder}: {format_amount(files, 'file')}" for folder, files in self.folded.items()]
        return "\n".join(lines + [f"{commit.ref}: {commit.before} → {commit.after}" for commit in self.commits])


class EffectsDecision(StrEnum):
    """What became of the effects of a layer: in the workspace, refused by a check, sent back with words,
    dropped, taken out of the workspace again, or put there again after that."""

    APPLIED = "applied"
    REFUSED = "refused"
    REJECTED = "rejected"
    DISCARDED = "discarded"
    UNDONE = "undone"
    REDONE = "redone"


class EffectsReviewed(Fact, frozen=True, kw_only=True, tag="effects_reviewed"):
    """A review of effects ended, and this came of it.

    `files` and `refs` count what was applied or undone. `refused` says by path or ref why nothing was. `words`
    are those that the model gets with a rejection.
    """

    layer: str
    decision: EffectsDecision
    digest: str = ""
    files: int = 0
    refs: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)
    words: str = ""

    @property
    def sentence(self) -> str:
        """What became of them, in a sentence."""
        counts = [format_amount(self.files, "file")] if self.files or not self.refs else []
        counts += [format_amount(self.refs, "ref")] if self.refs else []
        done = " and ".join(counts)
        match self.decision:
            case EffectsDecision.APPLIED:
                return f"{done} applied to your folder (layer {self.layer})"
            case EffectsDecision.REFUSED:
                why = "; ".join(
                    f"{path}: {reason}" for path, reason in list(self.refused.items())[:_MOST_NAMED]
                )
                more = (
                    f"; and {len(self.refused) - _MOST_NAMED} more" if len(self.refused) > _MOST_NAMED else ""
                )
                return f"nothing was applied (layer {self.layer}): {why}{more}"
            case EffectsDecision.REJECTED:
                words = f": {self.words}" if self.words else ""
                return f"nothing was applied (layer {self.layer}), you sent it back{words}"
            case EffectsDecision.DISCARDED:
                return f"all changes were discarded (layer {self.layer})"
            case EffectsDecision.UNDONE:
                return f"{done} taken back out of your folder (layer {self.layer})"
            case EffectsDecision.REDONE:
                return f"{done} applied to your folder again (layer {self.layer})"


def _name(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more


def _describe(effect: LayerEffect) -> str:
    renamed = f" from {effect.renamed_from}" if effect.renamed_from else ""
    after = effect.after
    mark = "" if after is None else f", sha256 {after.sha256}" if after.sha256 else f", mode {after.mode:04o}"
    return f"{effect.kind}: {effect.path}{renamed} (+{effect.added} −{effect.removed}{mark})"
