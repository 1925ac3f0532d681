"""The settings of the guards: the tables `[[guards]]`, one for each guard that is to be other than usual."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from quorum.domain.review.guards import DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES
from quorum.infrastructure.config.about import About, ProjectRule

GuardName: TypeAlias = Literal["path", "destructive", "size", "secret", "network", "persistence"]

_NEVER = ProjectRule.NEVER
_OWNERS = {"commands": "destructive", "max_bytes": "size", "max_lines": "size"}


def find_foreign_setting(table: Mapping[str, object]) -> str | None:
    """What is wrong with a guard as a whole: it has a setting that belongs to another one."""
    for key, owner in _OWNERS.items():
        if key in table and table.get("name") != owner:
            return f'has {key}, which only the guard "{owner}" takes'
    return None


def find_repeated_guard(tables: object) -> str | None:
    """What is wrong with all the tables together: two of them are about the same guard."""
    names = Counter(table.get("name") for table in tables) if isinstance(tables, list | tuple) else Counter()
    for name, count in names.items():
        if count > 1:
            return f'the guard "{name}" has {count} tables; put all its settings into one'
    return None


class GuardTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One guard, and in what it differs from the default."""

    name: Annotated[
        GuardName,
        About(
            description="The guard. path: objects to writing outside the workspace, and to commands that "
            "write to the system's own files. destructive: objects to commands that delete or overwrite "
            "data, end processes, act as another user or switch protections off. size: objects to calls "
            "with very long arguments. secret: objects to commands that read credentials, and to calls "
            "that contain [secret:NAME], the placeholder of a masked value. network: objects to commands "
            "that send files away, run what they download or let others in. persistence: objects to "
            "commands that have something run later on its own.",
            project=_NEVER,
        ),
    ]
    enabled: Annotated[bool, About(description="false: this guard is off.", project=_NEVER)] = True
    commands: Annotated[
        tuple[str, ...],
        About(
            description='For destructive: additional command prefixes to object to, such as ["make deploy"].',
            project=_NEVER,
        ),
    ] = ()
    max_bytes: Annotated[
        int,
        Meta(ge=1, le=100_000_000),
        About(description="For size: the maximum total length of the arguments of a call.", project=_NEVER),
    ] = DEFAULT_MAX_BYTES
    max_lines: Annotated[
        int,
        Meta(ge=1, le=10_000_000),
        About(description="For size: their maximum number of lines.", project=_NEVER),
    ] = DEFAULT_MAX_LINES
