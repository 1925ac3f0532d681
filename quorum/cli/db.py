"""`quorum db`: the tables of the database that keeps sessions, and their version."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from domain.errors import ConfigError
from domain.text.amounts import format_amount
from quorum.errors import UsageError, complain
from quorum.options import Options
from quorum.settings import load

if TYPE_CHECKING:
    from infrastructure.config.schema import StorageTable
    from infrastructure.storage_backend import SchemaState

LEFT_OUT = 1
"""The exit code of `copy` where something was not copied."""
NEEDS_UPGRADE = 1
"""The exit code of `status` where there are no tables yet, or those of another version."""


def print_db(options: Options, root: Path) -> int:
    """Do what is asked about the database that `[storage] url` names; the exit code.

    Raises ConfigError, LedgerError and UsageError.
    """
    from infrastructure.storage import read_schema_state, upgrade_schema

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    table = loaded.settings.storage
    if options.action == "status":
        state = read_schema_state(table, os.environ)
        print(f"{state.place}: {_describe(state)}")
        return 0 if state.is_current or state.makes_itself else NEEDS_UPGRADE
    if options.action == "copy":
        return _copy(options, table)
    before = upgrade_schema(table, os.environ)
    print(f"{before.place}: {_describe_upgrade(before)}")
    return 0


def _copy(options: Options, table: StorageTable) -> int:
    from infrastructure.config.schema import StorageTable
    from infrastructure.storage import URL_SETTING, copy_sessions, list_storage_paths
    from infrastructure.storage_backend import accepts_url, describe_urls

    source = StorageTable(url=table.url if options.source is None else options.source, blobs=table.blobs)
    target = StorageTable(url=options.target or "", blobs=table.blobs)
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
