"""The settings `[gate]`: how `quorum gate` decides about the calls of other agents."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule


class GateTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long the gate stays loaded."""

    idle_minutes: Annotated[
        int,
        Meta(ge=0, le=1440),
        About(
            description="Minutes that the gate stays loaded after a call, so that the next one is decided at "
            "once. 0: each call loads it anew, and nothing runs in between.",
            project=ProjectRule.NEVER,
        ),
    ] = 10
