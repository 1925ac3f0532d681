"""The settings of a session: `[context_budget]`, `[workspace]`, `[permissions]` and `[push]`."""

from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from quorum.domain.review.permission_rules import COMMAND_TOOL, READ_ONLY, Answer, BadRule, Rule
from quorum.domain.settings import About, ProjectRule
from quorum.infrastructure.config.toml_text import format_literal, shorten_text

_MOST = 50


def _find_flaw(folders: object) -> str | None:
    given = folders if isinstance(folders, list | tuple) else ()
    if len(given) > _MOST:
        return f"{len(given):,} folders are too many; name {_MOST} at most"
    if not all(str(folder).strip() for folder in given):
        return "the path of a folder is empty; name one, for example ~/library"
    return None


class WorkspaceTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "Which folders belong to the workspace."

    directories: Annotated[
        tuple[str, ...],
        About(
            description="Folders that belong to the workspace of every session beside its working directory: "
            "read, written and searched like that. A folder that is missing is left out with a warning. For "
            "one session: --add-dir and /add-dir (docs/folders.md).",
            project=ProjectRule.OWN,
            flaw=_find_flaw,
        ),
    ] = ()


_EXPECTED = 'a list of rules, for example ["write_file(src/**)", "run_command(git log *)"]'

_MOST_RULES = 2_000


def _make_flaw_finder(answer: Answer) -> Callable[[object], str | None]:
    """Finds what is wrong with a list of rules that give this answer."""

    def find_flaw(rules: object) -> str | None:
        given = rules if isinstance(rules, list | tuple) else ()
        if len(given) > _MOST_RULES:
            return f"{len(given):,} rules are too many; at most {_MOST_RULES:,} are held against each call"
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


class PushTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One place that is told, and when."""

    command: Annotated[
        tuple[str, ...],
        About(
            description="A program and its arguments, run without a shell and with your rights; it reads one "
            "JSON object from its standard input.",
        ),
    ] = ()
    url: Annotated[
        str,
        About(
            description="Instead of a command, an address that the sentence is posted to as ntfy takes it: "
            '"https://ntfy.example.com/TOPIC".',
        ),
    ] = ""
    browsers: Annotated[
        bool,
        About(
            description="Instead of both, the browsers that were subscribed on /approvals/notify of "
            "quorum serve --approvals, by web push.",
        ),
    ] = False
    after_secs: Annotated[
        int,
        Meta(ge=0, le=86_400),
        About(
            description="Seconds that a decision has waited by then. Tables with more are told only if nobody "
            "has answered meanwhile.",
        ),
    ] = 60
    every_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(
            description="Seconds between two messages at least; what waits meanwhile is counted in the next.",
        ),
    ] = 30
    link: Annotated[
        str,
        About(
            description="An address that the message leads to, such as that of your quorum serve; {digest} "
            "stands for the decision's.",
        ),
    ] = ""


def find_push_problem(table: Mapping[str, object]) -> str | None:
    """What is wrong with a table as a whole."""
    if sum(bool(table.get(name)) for name in ("command", "url", "browsers")) != 1:
        return 'needs one of command = ["PROGRAM", …], url = "https://…" and browsers = true'
    for name in ("url", "link"):
        if (value := str(table.get(name) or "")) and not value.startswith(("https://", "http://")):
            return f"has {name} = {value[:60]!r}, which is no address: it begins with https:// or http://"
    return None
