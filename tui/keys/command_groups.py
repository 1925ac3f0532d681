"""The slash commands by what one wants to do, as the menu and the help list them."""

from __future__ import annotations

from collections.abc import Iterator

from quorum.tui.keys.commands import COMMANDS, Command

GROUPS: tuple[tuple[str, str], ...] = (
    ("Work", "plan ensemble strategy fast mode model image steer retry compact init"),
    ("Undo", "undo rewind redo diff"),
    ("Ask", "ask discuss debate review findings"),
    ("Look", "status context cost timeline jobs inbox find copy output export fold clear"),
    ("Sessions", "new resume fork tab worktree result close"),
    ("Set up", "permissions config mcp skills agents add-dir read-calls"),
    ("App", "help theme layout quit"),
)
"""The title of each group, and its commands in the order in which they are listed."""

_LAST = GROUPS[-1][0]


def list_groups() -> Iterator[tuple[str, tuple[Command, ...]]]:
    """The title of each group and its commands. The last one has those, too, that no group names."""
    listed = {command.name: command for command in COMMANDS if command.is_listed}
    grouped = {name for _, names in GROUPS for name in names.split()}
    for title, names in GROUPS:
        own = tuple(listed[name] for name in names.split())
        others = tuple(each for name, each in listed.items() if name not in grouped) if title == _LAST else ()
        yield title, (*own, *others)
