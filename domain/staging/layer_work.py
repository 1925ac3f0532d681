"""What a session did in its layer since the last review: the commands that ran there, and how they ended."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.staging.effects_answer import EffectsVotes

MOST_COMMANDS = 200
MOST_CHANGES = 2_000
MOST_STEPS = 50


class SubagentStep(Struct, frozen=True, kw_only=True):
    """How a file was changed by the subagent `by`, or by the session itself where that is empty.

    `before` and `after` are SHA-256 of its content, empty for no file, and None where that is not known.
    """

    by: str
    before: str | None
    after: str | None


class SubagentChanges(Struct, frozen=True, kw_only=True):
    """The files that a subagent's calls changed, by canonical path, each with whether nobody else changed it.

    `name` is what the person knows the subagent by, also where several work on the same kind of task. `beside`
    are the ids of those that worked at the same time.
    """

    subagent_id: str
    name: str
    paths: dict[str, bool]
    beside: tuple[str, ...] = ()

    @property
    def own(self) -> frozenset[str]:
        """Those that nobody else changed."""
        return frozenset(path for path, is_own in self.paths.items() if is_own)


class LayerWork(Struct, frozen=True, kw_only=True):
    """What was done in a layer since its effects were last reviewed; `layer` is empty outside any.

    `commands` are the last ones, of which `more` are left out; `addresses` are those that were asked for in the
    web, and `jobs` what works in the background and has no end. `subagents` counts those that worked here: what
    they ran is on record in their own sessions, and `changes` are those of each. `shared` has, by canonical
    path, the last steps of each file that a subagent and somebody else changed. `votes` are the latest on its
    effects.

    `answered_in` is the layer in which the model answered last, empty for the folder itself and None without
    any answer. `was_reset`: since then the person discarded changes, took applied ones back, or applied these
    again.
    """

    layer: str = ""
    commands: tuple[CommandEnd, ...] = ()
    more: int = 0
    addresses: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    subagents: int = 0
    changes: tuple[SubagentChanges, ...] = ()
    shared: Mapping[str, tuple[SubagentStep, ...]] = field(default_factory=dict)
    votes: EffectsVotes | None = None
    answered_in: str | None = None
    was_reset: bool = False
