"""The settings `[permissions]`: the rules that the person settled beforehand."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Struct

from quorum.domain.review.permissions import COMMAND_TOOL, READ_ONLY, Answer, BadRule, Rule
from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.toml_text import format_literal, shorten_text

_EXPECTED = 'a list of rules, for example ["write_file(src/**)", "run_command(git log *)"]'

_MOST = 2_000


def _make_flaw_finder(answer: Answer) -> Callable[[object], str | None]:
    """Finds what is wrong with a list of rules that give this answer."""

    def find_flaw(rules: object) -> str | None:
        given = rules if isinstance(rules, list | tuple) else ()
        if len(given) > _MOST:
            return f"{len(given):,} rules are too many; at most {_MOST:,} are held against each call"
        for text in given:
            try:
                Rule.parse(text, answer, "")
            except BadRule as problem:
                return (
                    f"{shorten_text(format_literal(text), 120)} is not a rule: {problem}; correct it or take "
                    "it out (docs/permissions.md shows how rules are written)"
                )
        return None

    return find_flaw


class PermissionTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules of the settings, by what they answer."""

    allow: Annotated[
        tuple[str, ...],
        About(
            description="Calls that run without a question, such as "
            '["write_file(src/**)", "run_command(npm test *)"]. '
            f"{COMMAND_TOOL}({READ_ONLY}) is every command that is proven to change nothing. It is allowed "
            "beside what a list here names, unless ask or deny names it. Protected and sensitive paths and "
            "objections of guards still ask.",
            project=ProjectRule.NEVER,
            expected=_EXPECTED,
            flaw=_make_flaw_finder(Answer.ALLOW),
        ),
    ] = (f"{COMMAND_TOOL}({READ_ONLY})",)
    ask: Annotated[
        tuple[str, ...],
        About(
            description="Calls that ask you in every mode, whatever else allows them.",
            project=ProjectRule.ADD,
            expected=_EXPECTED,
            flaw=_make_flaw_finder(Answer.ASK),
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        About(
            description="Calls that never run. The strictest rule that matches a call wins.",
            project=ProjectRule.ADD,
            expected=_EXPECTED,
            flaw=_make_flaw_finder(Answer.DENY),
        ),
    ] = ()
