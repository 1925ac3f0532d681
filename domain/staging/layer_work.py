"""What a session did in its layer since the last review: the commands that ran there, and how they ended."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.staging.effects_votes import EffectsVotes

MOST_COMMANDS = 200


class LayerWork(Struct, frozen=True, kw_only=True):
    """What was done in a layer since its effects were last reviewed; `layer` is empty outside any.

    `commands` are the last ones, of which `more` are left out; `addresses` are those that were asked for in the
    web, and `jobs` what works in the background and has no end. `subagents` counts those that worked here: what
    they ran is on record in their own sessions. `votes` are the latest on its effects.

    `waiting` is the layer in which effects waited last, wherever the session works now. `answered_in` is that
    in which the model answered last, empty for the folder itself and None without any answer. `was_reset`:
    since then the person discarded changes, or took applied ones back.
    """

    layer: str = ""
    commands: tuple[CommandEnd, ...] = ()
    more: int = 0
    addresses: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    subagents: int = 0
    votes: EffectsVotes | None = None
    waiting: str = ""
    answered_in: str | None = None
    was_reset: bool = False
