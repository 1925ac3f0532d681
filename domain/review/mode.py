"""The review mode: how what no rule decided is resolved, and all that differs between the modes."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Mode(StrEnum):
    """How what no rule decided is resolved.

    READ_ONLY denies what is risky, ASK asks about it, ACCEPT_EDITS lets edits inside the workspace run, QUORUM
    lets run what the models approve, SANDBOXED lets edits inside the workspace run, and commands inside the
    sandbox without network, STAGED lets the same run in a layer over the workspace, whose effects are reviewed
    at the end, AUTO lets everything run.
    """

    READ_ONLY = "read-only"
    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    QUORUM = "quorum"
    SANDBOXED = "sandboxed"
    STAGED = "staged"
    AUTO = "auto"

    @property
    def traits(self) -> ModeTraits:
        """All that is to be known of the mode but its decisions, which `domain/review/decision.py` makes."""
        return _get_traits(self)

    def is_as_strict_as(self, other: Mode) -> bool:
        """Whether nothing runs in this mode that `other` asks about. Of two modes of one rank neither is."""
        return self is other or self.traits.rank < other.traits.rank


class ModeTraits(Struct, frozen=True, kw_only=True):
    """The properties of a mode. The front end may not import them; it repeats some in `tui/keys/choices.py`.

    `meaning`: what runs in it, for the reference of the settings. `last_word`: what becomes of a risky call
    that no rule speaks of, for the list of rules. `rank`: the higher, the more runs. `shows_votes`: the person
    reads votes about the calls that they are asked about. `votes_decide`: the votes can let a call run.
    `network`: whether commands reach the network unless the settings say otherwise. `asks_first`: no risky call
    runs that neither a person nor a rule has approved, so that any client of the remote control may choose the
    mode. `in_cycle`: Shift+Tab reaches it. `needs_sandbox`: it exists only where commands run in a sandbox;
    `needs_layer`: only in a process that works in a layer over the workspace. `warning`: what the header warns
    of, if it does.
    """

    meaning: str
    last_word: str
    rank: int
    shows_votes: bool
    votes_decide: bool
    network: bool
    asks_first: bool
    in_cycle: bool
    needs_sandbox: bool = False
    needs_layer: bool = False
    warning: str = ""


def _get_traits(mode: Mode) -> ModeTraits:
    match mode:
        case Mode.READ_ONLY:
            return ModeTraits(
                meaning="only calls that change nothing run",
                last_word="it does not run",
                rank=0,
                shows_votes=False,
                votes_decide=False,
                network=True,
                asks_first=True,
                in_cycle=True,
            )
        case Mode.ASK:
            return ModeTraits(
                meaning="you are asked about every risky call that no rule allows",
                last_word="you are asked",
                rank=1,
                shows_votes=True,
                votes_decide=False,
                network=True,
                asks_first=True,
                in_cycle=True,
            )
        case Mode.ACCEPT_EDITS:
            return ModeTraits(
                meaning="edits inside the workspace run, you are asked about all other risky calls",
                last_word="edits in the workspace run, you are asked about all other calls",
                rank=2,
                shows_votes=False,
                votes_decide=False,
                network=True,
                asks_first=False,
                in_cycle=True,
            )
        case Mode.QUORUM:
            return ModeTraits(
                meaning="calls that the models of models.review approve run, "
                "you are asked about all other risky calls",
                last_word="the models vote, and without their approval you are asked",
                rank=2,
                shows_votes=True,
                votes_decide=True,
                network=False,
                asks_first=False,
                in_cycle=True,
            )
        case Mode.SANDBOXED:
            return ModeTraits(
                meaning="edits in the workspace and commands in the sandbox run, you are asked about the rest",
                last_word="it runs inside the sandbox without network, about all else you are asked",
                rank=2,
                shows_votes=False,
                votes_decide=False,
                network=False,
                asks_first=False,
                in_cycle=True,
                needs_sandbox=True,
            )
        case Mode.STAGED:
            return ModeTraits(
                meaning="edits in the workspace and commands in the sandbox run in a layer over it: you review "
                "all that they did before anything of it reaches your files",
                last_word="it runs in the layer and inside the sandbox without network, else you are asked",
                rank=2,
                shows_votes=False,
                votes_decide=False,
                network=False,
                asks_first=False,
                in_cycle=False,
                needs_sandbox=True,
                needs_layer=True,
            )
        case Mode.AUTO:
            return ModeTraits(
                meaning="everything runs but what rules, guards, and protected and sensitive paths ask about",
                last_word="it runs, unless a guard objects",
                rank=3,
                shows_votes=False,
                votes_decide=False,
                network=False,
                asks_first=False,
                in_cycle=False,
                warning="only exceptions are asked",
            )
