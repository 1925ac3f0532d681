"""`quorum db`: the tables of the database that keeps sessions, and their version."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.cli.errors import complain
from quorum.cli.settings import load
from quorum.options import Options

if TYPE_CHECKING:
    from infrastructure.storage_backend import SchemaState

NEEDS_UPGRADE = 1
"""The exit code of `status` where there are no tables yet, or those of another version."""


def print_db(options: Options, root: Path) -> int:
    """Do what is asked about the database that `[storage] url` names; the exit code.

    Raises ConfigError and LedgerError.
    """
    from infrastructure.storage import read_schema_state, upgrade_schema

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    table = loaded.settings.storage
    if options.action == "status":
        state = read_schema_state(table, os.environ)
        print(f"{state.place}: {_describe(state)}")
        return 0 if state.is_current or state.makes_itself else NEEDS_UPGRADE
    before = upgrade_schema(table, os.environ)
    print(f"{before.place}: {_describe_upgrade(before)}")
    return 0


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
