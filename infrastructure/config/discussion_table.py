"""The settings `[discussion]`: how models discuss a question."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule


class DiscussionTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the models of models.participants discuss a question."""

    answer_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(
            description="Seconds after which a participant that has not answered is left out, and after which "
            "a review or the synthesis counts as failed.",
            project=ProjectRule.NEVER,
        ),
    ] = 300.0
