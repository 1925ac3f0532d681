"""The settings `[review]`: which calls are asked about."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PROTECTED, SENSITIVE
from quorum.infrastructure.config.about import About, ProjectRule

_MOST, _LONGEST = 500, 200


def _find_flaw(patterns: object) -> str | None:
    """Every file that is met is held against all of them, and a strange folder may add some."""
    given = patterns if isinstance(patterns, list | tuple) else ()
    if len(given) > _MOST:
        return f"{len(given):,} patterns are too many; at most {_MOST} are looked for, so name folders"
    if any(len(str(pattern)) > _LONGEST for pattern in given):
        return f"a pattern has more than {_LONGEST} characters; shorten it"
    return None


class ReviewTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "Which calls need your approval."

    mode: Annotated[
        Mode,
        About(
            description=" ".join(f"{mode}: {mode.traits.meaning}." for mode in Mode)
            + " Protected and sensitive paths are asked about in every mode. On the command line: --mode.",
            project=ProjectRule.STRICTER,
        ),
    ] = Mode.ASK
    offer_sandboxed: Annotated[
        bool,
        About(
            description="Ask at the first start of the app whether the mode is to be sandboxed. It asks only "
            "where the sandbox works and nothing sets review.mode; the answer is kept in your settings.",
            project=ProjectRule.OWN,
        ),
    ] = True
    sample_percent: Annotated[
        float,
        Meta(ge=0, le=100),
        About(
            description="How many in a hundred of the calls that the modes auto and quorum let run are kept "
            "for your verdict: quorum permissions judge. 0: none.",
            project=ProjectRule.OWN,
        ),
    ] = 2.0
    max_error_percent: Annotated[
        float,
        Meta(ge=0, le=100),
        About(
            description="Where you judged calls to be wrong, and more than so many in a hundred of their kind "
            "may be (95 % confidence), these modes ask about that kind. 100: never.",
            project=ProjectRule.OWN,
        ),
    ] = 10.0
    protected: Annotated[
        tuple[str, ...],
        About(
            description="Paths that are asked about before they are written, in every mode. "
            "Patterns as in .gitignore, not case-sensitive. A list here replaces the "
            'default; its entry "..." stands for the default.',
            project=ProjectRule.ADD,
            extensible=True,
            flaw=_find_flaw,
        ),
    ] = PROTECTED
    sensitive: Annotated[
        tuple[str, ...],
        About(
            description="Paths that are asked about even before they are read. Same patterns, same rule. "
            "Only a pattern without wildcards covers .env.example, .env.sample, .env.template and .env.dist.",
            project=ProjectRule.ADD,
            extensible=True,
            flaw=_find_flaw,
        ),
    ] = SENSITIVE
