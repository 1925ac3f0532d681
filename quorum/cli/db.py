"""`quorum db`: the tables of the database that keeps sessions, and their version."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import CliCommand, CommandGroup, argument
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES
from quorum.errors import UsageError, complain

if TYPE_CHECKING:
    from quorum.infrastructure.config.schema import StorageTable
    from quorum.infrastructure.storage_backend import SchemaState

LEFT_OUT = 1
"""The exit code of `copy` where something was not copied."""
NEEDS_UPGRADE = 1
"""The exit code of `status` where there are no tables yet, or those of another version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOptions(StartOptions):
    """The databases to copy from, None: that of the settings, and to."""

    source: str | None = None
    target: str = ""


def _load_table(options: StartOptions, root: Path) -> StorageTable:
    from quorum.settings import load

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    return loaded.settings.storage


def _print_status(options: StartOptions, root: Path) -> int:
    from quorum.infrastructure.storage import read_schema_state

    state = read_schema_state(_load_table(options, root), os.environ)
    print(f"{state.place}: {_describe(state)}")
    return 0 if state.is_current or state.makes_itself else NEEDS_UPGRADE


def _upgrade(options: StartOptions, root: Path) -> int:
    from quorum.infrastructure.storage import upgrade_schema

    before = upgrade_schema(_load_table(options, root), os.environ)
    print(f"{before.place}: {_describe_upgrade(before)}")
    return 0


def _copy(options: CopyOptions, root: Path) -> int:
    from quorum.domain.errors import ConfigError
    from quorum.domain.text.amounts import format_amount
    from quorum.infrastructure.config.schema import StorageTable
    from quorum.infrastructure.storage import URL_SETTING, copy_sessions, list_storage_paths
    from quorum.infrastructure.storage_backend import accepts_url, describe_urls

    table = _load_table(options, root)
    source = StorageTable(url=table.url if options.source is None else options.source, blobs=table.blobs)
    target = StorageTable(url=options.target, blobs=table.blobs)
    for option, url in (
        ("storage.url" if options.source is None else "--from", source.url),
        ("--to", target.url),
    ):
        if url and not accepts_url(url):
            raise UsageError(f"{option} is no address of a database; expected {describe_urls()}")
        try:
            list_storage_paths(StorageTable(url=url), os.environ)
        except ConfigError as error:
            raise UsageError(str(error).replace("storage.url", option)) from None
    report = copy_sessions(
        source,
        target,
        os.environ,
        lambda sentence: complain([sentence]),
        source_option=URL_SETTING if options.source is None else "--from",
        target_option="--to",
    )
    complain(report.left)
    there = f" ({report.present} were there already)" if report.present else ""
    print(
        f"copied and verified {format_amount(report.sessions, 'session')}{there}, "
        f"{format_amount(report.contents, 'former content')} and {format_amount(report.outputs, 'long output')}"
    )
    return LEFT_OUT if report.left else 0


def _describe(state: SchemaState) -> str:
    if state.is_current:
        return f"schema {state.found}, up to date"
    if not state.found:
        made = "the first session makes them" if state.makes_itself else "run quorum db upgrade to make them"
        return f"no tables yet; {made}"
    if state.found > state.needed:
        return f"schema {state.found}, of a newer quorum; this one knows {state.needed}: update quorum"
    return f"schema {state.found}, this quorum needs {state.needed}: run quorum db upgrade"


def _describe_upgrade(before: SchemaState) -> str:
    if before.is_current:
        return f"schema {before.found} was up to date already"
    if before.found:
        return f"upgraded from schema {before.found} to {before.needed}"
    return _describe(before) if before.makes_itself else f"made the tables, schema {before.needed}"


COMMAND = CommandGroup(
    {
        "status": CliCommand(
            StartOptions,
            _print_status,
            summary="Print which version of its tables the database of the sessions has.",
            details="The exit code is 1 where they must be upgraded.",
            arguments=PLACES,
            examples=(("quorum db status", "of the database that [storage] url names"),),
        ),
        "upgrade": CliCommand(
            StartOptions,
            _upgrade,
            summary="Bring the tables of the database to the version that this quorum needs.",
            details="In PostgreSQL it makes them where there are none yet. All of it is done, or nothing.",
            arguments=PLACES,
            examples=(("quorum db upgrade", "once for all machines that share the database"),),
        ),
        "copy": CliCommand(
            CopyOptions,
            _copy,
            summary="Copy all sessions, with undo and long outputs, into another database.",
            details="Each session is checked where it arrives. Begun again, it continues. A database that "
            "holds other sessions is refused. The exit code is 1 where something was not copied.",
            arguments=(
                argument("--from", metavar="URL", dest="source", help="instead of [storage] url"),
                argument("--to", metavar="URL", dest="target", required=True, help="where to"),
                *PLACES,
            ),
            examples=(
                (
                    "quorum db copy --to postgresql+psycopg://quorum@db.example.com/quorum",
                    "from this machine",
                ),
                (
                    "quorum db copy --from postgresql+psycopg://quorum@db.example.com/quorum "
                    "--to sqlite:////home/me/ledger.sqlite",
                    "and back",
                ),
            ),
        ),
    },
    example=("quorum db status", "whether they must be upgraded"),
)
