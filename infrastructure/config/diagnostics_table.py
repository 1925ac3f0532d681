"""The settings of one diagnostics command: a table of `[[diagnostics]]`."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule

FILES = "{files}"
_NEVER = ProjectRule.NEVER
_NAME = r"\A[!-~]{1,60}\Z"


def find_unfit_placeholder(table: Mapping[str, object]) -> str | None:
    """What is wrong with a diagnostics command as a whole: {files} is not an argument of its own."""
    command = table.get("command")
    program, *arguments = command if isinstance(command, list | tuple) and command else [""]
    if FILES in str(program):
        return "has {files} in the place of the program; name the program first"
    for argument in arguments:
        if FILES in str(argument) and argument != FILES:
            return f'has {{files}} within the argument "{argument}"; it must be an argument of its own'
    return None


def find_repeated_diagnostics(tables: object) -> str | None:
    """What is wrong with all the tables together: two of them have the same name."""
    names = Counter(table.get("name") for table in tables) if isinstance(tables, list | tuple) else Counter()
    for name, count in names.items():
        if count > 1:
            return f'{count} tables have the name "{name}"; give each its own'
    return None


class DiagnosticsTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One command that checks edited files."""

    name: Annotated[
        str,
        Meta(pattern=_NAME),
        About(
            description="Its name in the transcript and for the model.",
            project=_NEVER,
            expected="a name of 1 to 60 printable ASCII characters without spaces",
        ),
    ]
    pattern: Annotated[
        str | Annotated[tuple[str, ...], Meta(min_length=1)],
        About(
            description="Which edited files it checks: a pattern, or a list of them, of paths relative to the "
            'workspace, such as "*.py". * also matches /.',
            project=_NEVER,
            expected='a pattern such as "*.py", or a list of them',
        ),
    ]
    command: Annotated[
        tuple[str, ...],
        Meta(min_length=1),
        About(
            description="A program and its arguments, run without a shell in the workspace. The argument "
            "{files} stands for the edited files, each an argument of its own. Exit code 0: nothing is wrong.",
            project=_NEVER,
            expected='a list of a program and its arguments, for example ["ruff", "check", "-q", "{files}"]',
        ),
    ]
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(description="Seconds after which a run of it fails.", project=_NEVER),
    ] = 30.0
    enabled: Annotated[bool, About(description="false: it is off.", project=_NEVER)] = True
