"""The settings `[debate]`: which models debate an answer, and how."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.domain.panel.debate_record import Intensity
from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.models_table import MODEL_NAME, build_repeat_check


class DebateTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which models debate an answer, and how: docs/several-models.md."""

    models: Annotated[
        tuple[Annotated[str, Meta(pattern=MODEL_NAME)], ...],
        About(
            description="The models that debate, two or more: the first answers, the second objects. "
            "Empty: those of models.participants.",
            project=ProjectRule.NEVER,
            expected='a list of "provider/model"',
            flaw=build_repeat_check(", and each takes part once"),
        ),
    ] = ()
    max_rounds: Annotated[
        int,
        Meta(ge=1, le=10),
        About(description="The most rounds of objections.", project=ProjectRule.NEVER),
    ] = 3
    intensity: Annotated[
        Intensity,
        About(
            description="mild: another round only where a critical or high objection was upheld or stays open. "
            "strong: objections try hard to bring the answer down, until a round has none.",
            project=ProjectRule.NEVER,
        ),
    ] = Intensity.MILD
    allow_interjection: Annotated[
        bool,
        About(
            description="Whether all other models object in each round. If not, those after the second only "
            "stand in for one that is down.",
            project=ProjectRule.NEVER,
        ),
    ] = False
