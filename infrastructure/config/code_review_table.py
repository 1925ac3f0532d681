"""The settings `[code_review]`: how changes are reviewed."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule


class CodeReviewTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the models of models.review, or else of models.participants, review changes."""

    answer_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds after which a reviewer that has not answered about a part of the change is "
            "left out, and after which a try of findings or the conclusion counts as failed.",
            project=ProjectRule.NEVER,
        ),
    ] = 300.0
    max_part_bytes: Annotated[
        int,
        Meta(ge=4_000, le=1_000_000),
        About(
            description="How many bytes of a change go into one question. A longer change is split by file, "
            "and that is said.",
            project=ProjectRule.NEVER,
        ),
    ] = 60_000
    max_tool_rounds: Annotated[
        int,
        Meta(ge=0, le=50),
        About(
            description="How often a reviewer may look at the repository before it has to answer a question. "
            "0: it sees the change alone.",
            project=ProjectRule.NEVER,
        ),
    ] = 8
