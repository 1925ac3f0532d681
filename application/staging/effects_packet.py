"""What a review of effects is about: person, guards and reviewers read the same."""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import sha256

from msgspec import Struct, field

from quorum.domain.staging.effects_votes import EffectsVotes
from quorum.domain.staging.layer_effects import LayerEffects
from quorum.domain.staging.layer_work import LayerWork, SubagentChanges
from quorum.domain.struct_json import struct_to_json


class EffectsPacket(Struct, frozen=True, kw_only=True, dict=True):
    """What a review of effects is about: what would be applied, and what ran. An answer names its digest."""

    effects: LayerEffects
    work: LayerWork = field(default_factory=LayerWork)
    hosts: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the effects and of the receipts of what ran, in hexadecimal."""
        work = self.work
        receipts = {
            "effects": self.effects.digest,
            "commands": [struct_to_json(command) for command in work.commands],
            "more": work.more,
            "addresses": list(work.addresses),
            "jobs": list(work.jobs),
            "subagents": work.subagents,
        }
        text = json.dumps(receipts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def find_changers(self, path: str) -> tuple[SubagentChanges, ...]:
        """The subagents that changed a file, by its path as effects name it."""
        place = self.locate(path)
        return tuple(each for each in self.work.changes if place in each.paths)

    def locate(self, path: str) -> str:
        """The canonical path of what effects name so."""
        return f"{self.effects.workspace}/{path}"

    @property
    def votes(self) -> EffectsVotes | None:
        """The votes on exactly this; None where nobody voted, or on other effects."""
        votes = self.work.votes
        return votes if votes is not None and votes.digest == self.digest else None
