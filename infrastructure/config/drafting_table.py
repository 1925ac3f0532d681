"""The settings `[drafting]`: how several models make plans and drafts."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule


class DraftingTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the models of models.participants look at a project before each writes a plan, or AGENTS.md."""

    answer_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds after which a participant that has not written its plan or draft is left out, "
            "and that is said.",
            project=ProjectRule.NEVER,
        ),
    ] = 600.0
    max_tool_rounds: Annotated[
        int,
        Meta(ge=0, le=50),
        About(
            description="How often a participant may look at the project before it has to write. 0: it writes "
            "from your prompt alone.",
            project=ProjectRule.NEVER,
        ),
    ] = 12
