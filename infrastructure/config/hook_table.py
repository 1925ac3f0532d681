"""The settings of one hook: a table of `[[hooks]]`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from quorum.domain.calls.hook import HookPoint, OnHookError, describe_point
from quorum.infrastructure.config.about import About, ProjectRule

_NEVER = ProjectRule.NEVER
_NAME = r"\A[!-~]{0,60}\Z"
_CLASS = r"\A([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*)?\Z"
_FORMER_EXAMPLES = "infrastructure.hooks.examples."

_WHEN = ", ".join(f"{point} ({describe_point(point).when})" for point in HookPoint)
_BY_ITSELF = ", ".join(
    f"{meaning} at " + " and ".join(point for point in HookPoint if describe_point(point).on_error is meaning)
    for meaning in OnHookError
)


def find_program_problem(table: Mapping[str, object]) -> str | None:
    """What is wrong with a hook as a whole: it must say what it runs, and only one such thing."""
    if bool(table.get("command")) == bool(table.get("python")):
        return 'needs either command = ["PROGRAM", …] or python = "module:Class"'
    if table.get("command") and table.get("settings"):
        return "has settings, which only a hook in Python takes; give a command its arguments in command"
    if table.get("python") and table.get("sandbox"):
        return "has sandbox = true, but a hook in Python runs within quorum; make it a command, or leave it out"
    return None


def find_current_name(python: str) -> str | None:
    """The name that a class shipped with quorum has now, where `python` is its former one."""
    rest = python.removeprefix(_FORMER_EXAMPLES)
    return None if rest == python else f"quorum.hooks.{rest}"


class HookTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One hook: when it runs, what it runs, which calls it is asked about."""

    event: Annotated[
        HookPoint | Annotated[tuple[HookPoint, ...], Meta(min_length=1)],
        About(
            description=f"When it runs, one or a list of: {_WHEN}.",
            project=_NEVER,
            expected=f"one of {', '.join(HookPoint)}, or a list of them",
        ),
    ]
    command: Annotated[
        tuple[str, ...],
        About(
            description="A program and its arguments, run without a shell in the workspace; it "
            "reads JSON from its standard input and answers on its standard output.",
            project=_NEVER,
        ),
    ] = ()
    python: Annotated[
        str,
        Meta(pattern=_CLASS),
        About(
            description='Instead of a command, a class as "module:Class", from the import path or from the '
            "folder hooks beside your own quorum.toml.",
            project=_NEVER,
            expected='"module:Class", for example "quorum.hooks.audit_log:AuditLog"',
        ),
    ] = ""
    settings: Annotated[
        Mapping[str, object],
        About(description="The keyword arguments of the class of python.", project=_NEVER, expected="a value"),
    ] = field(default_factory=dict)
    name: Annotated[
        str,
        Meta(pattern=_NAME),
        About(
            description="Its name in the transcript and for `quorum hooks test`. Empty: the name of"
            " the program or the class.",
            project=_NEVER,
            expected="a name of at most 60 printable ASCII characters without spaces",
        ),
    ] = ""
    tools: Annotated[
        tuple[str, ...],
        About(
            description="Only for calls of tools whose name matches one of these patterns, such as "
            '"write_*". Empty: all.',
            project=_NEVER,
        ),
    ] = ()
    risk: Annotated[
        Literal["", "low", "high"],
        About(description="Only for calls of this risk, low or high. Empty: both.", project=_NEVER),
    ] = ""
    paths: Annotated[
        tuple[str, ...],
        About(
            description="Only for calls that touch a path that matches one of these patterns, such "
            'as "*/src/*". Paths are absolute. Empty: all.',
            project=_NEVER,
        ),
    ] = ()
    priority: Annotated[
        int,
        Meta(ge=-1_000_000, le=1_000_000),
        About(description="Lower runs first; among equals, in the order of the file.", project=_NEVER),
    ] = 0
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=3600),
        About(description="Seconds after which a run of the hook fails.", project=_NEVER),
    ] = 30.0
    on_error: Annotated[
        Literal["", "closed", "open"],
        About(
            description="What a failure means. closed: the operation does not happen. open: it "
            "happens unchanged, with a warning. Empty: ",
            project=_NEVER,
        ),
    ] = ""
    sandbox: Annotated[
        bool,
        About(
            description="true: the program of command runs in the sandbox, with the settings of "
            "tools.run_command. false: it has your rights.",
            project=_NEVER,
        ),
    ] = False
    enabled: Annotated[bool, About(description="false: the hook is off.", project=_NEVER)] = True


def describe_former_names(tables: Sequence[HookTable]) -> list[str]:
    """A sentence for each hook that names a class of quorum's by its former name, which is still understood."""
    names = ((place, table.python, find_current_name(table.python)) for place, table in enumerate(tables))
    return [
        f'hooks[{place}].python: {former} is now called "{name}"; write that'
        for place, former, name in names
        if name is not None
    ]
