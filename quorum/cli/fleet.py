"""`quorum fleet`: many sessions, submitted to a queue and run by workers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from quorum.errors import UsageError, complain
from quorum.options import Options
from quorum.session_store import SessionStore
from quorum.settings import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from application.ports.fleet import Fleet
    from domain.fleet.fleet_session import FleetRequest, FleetSession
    from infrastructure.config.loading import LoadedSettings

_WATCH_SECS = 2.0
_CLEAR = "\x1b[H\x1b[2J"


def run_fleet(options: Options, root: Path) -> int:
    """Do what is asked of the fleet of the database that `[storage] url` names; the exit code.

    Raises ConfigError, LedgerError and UsageError.
    """
    parent = None
    if options.action == "work":
        from quorum.fleet.work import fork_processes

        forked = fork_processes(options)
        if isinstance(forked, int):
            return forked
        parent = forked.parent

    from domain.errors import LedgerError
    from infrastructure.storage import open_fleet
    from quorum.fleet.advance import BUSY, advance_fleet_session

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    try:
        fleet = open_fleet(loaded.settings.storage, os.environ)
    except LedgerError as error:
        if options.action != "advance":
            raise
        complain([str(error)])
        return BUSY
    try:
        match options.action:
            case "submit":
                return _submit(fleet, options, root)
            case "status":
                return _print_status(fleet, options, loaded, root)
            case "results":
                return _print_results(fleet, options, loaded, root)
            case "cancel":
                return _cancel(fleet, options)
            case "work":
                from quorum.fleet.work import advance_sessions

                assert parent is not None
                return asyncio.run(advance_sessions(fleet, options, root, loaded, parent))
            case _:
                (session_id,) = options.fleet.sessions
                if (session := fleet.find(session_id)) is None:
                    raise UsageError(f"{session_id[:70]!a} is the id of no submitted session")
                return advance_fleet_session(options, session, root)
    finally:
        fleet.close()


def _submit(fleet: Fleet, options: Options, root: Path) -> int:
    requests = _gather_requests(options, root)
    submitted = fleet.submit(requests, retry_failed=options.fleet.retry_failed)
    for session in submitted:
        print(session.session_id)
    if known := len(requests) - len(submitted):
        complain([f"{known} not submitted: their key was submitted before"])
    return 0


def _gather_requests(options: Options, root: Path) -> list[FleetRequest]:
    from quorum.fleet.requests import build_pull_request_requests, read_requests

    asked = options.fleet
    if bool(asked.file) == asked.pull_requests:
        raise UsageError("name a file with requests, or --prs")
    if not asked.pull_requests:
        if asked.prompt:
            raise UsageError("--prompt is for --prs; each line of a file has a prompt of its own")
        return read_requests(asked.file, root)
    requests = build_pull_request_requests(root, asked.prompt.strip())
    if not requests:
        complain(["no pull request is open"])
    return requests


def _print_status(fleet: Fleet, options: Options, loaded: LoadedSettings, root: Path) -> int:
    from infrastructure.wall_clock import read_wall_clock_ms
    from quorum.fleet.report import encode_session, render_fleet

    mask = _build_mask(loaded, root)
    if options.fleet.json:
        print(json.dumps([encode_session(session, mask) for session in fleet.list_sessions()], indent=1))
        return 0
    is_terminal = sys.stdout.isatty()
    if options.fleet.watch and not is_terminal:
        raise UsageError("--watch draws on a terminal; elsewhere, call quorum fleet status --json now and then")
    while True:
        size = get_terminal_size()
        sessions = fleet.list_sessions()
        lines = render_fleet(
            sessions, mask, now_ms=read_wall_clock_ms(), width=size.columns if is_terminal else None
        )
        if not options.fleet.watch:
            print("\n".join(lines))
            return 0
        head, body, summary = lines[0], lines[1:-1], lines[-1]
        room = max(1, size.lines - 3)  # the latest, where not all have room
        sys.stdout.write(_CLEAR + "\n".join((head, *body[-room:], summary)))
        sys.stdout.flush()
        if all(session.state.is_final for session in sessions):
            print()
            return 0
        time.sleep(_WATCH_SECS)


def _print_results(fleet: Fleet, options: Options, loaded: LoadedSettings, root: Path) -> int:
    from domain.errors import LedgerError
    from infrastructure.storage import open_storage
    from quorum.fleet.report import encode_result
    from quorum.headless.printer import render_json_line

    mask = _build_mask(loaded, root)
    sessions = _choose(fleet.list_sessions(), options.fleet.sessions)
    storage = open_storage(loaded.settings.storage, os.environ)
    try:
        for session in sessions:
            if not session.state.is_final:
                continue
            try:
                records = asyncio.run(storage.archive.read(session.session_id))
            except LedgerError:  # it never began, or was deleted
                records = ()
            print(render_json_line(encode_result(session, records, mask)))
    finally:
        storage.close()
    return 0


def _cancel(fleet: Fleet, options: Options) -> int:
    if not options.fleet.all and not options.fleet.sessions:
        raise UsageError("name the sessions to cancel, or --all")
    if options.fleet.all and options.fleet.sessions:
        raise UsageError("--all or some sessions, not both")
    chosen = _choose(fleet.list_sessions(), options.fleet.sessions)
    cancelled = fleet.cancel([session.session_id for session in chosen if not session.state.is_final])
    for session_id in cancelled:
        print(session_id)
    if not cancelled:
        complain(["nothing was cancelled: these sessions have ended"])
    return 0


def _choose(sessions: Sequence[FleetSession], names: Sequence[str]) -> tuple[FleetSession, ...]:
    """Those whose ids begin so, or all where none is named. Raises UsageError for one that is not there."""
    if not names:
        return tuple(sessions)
    chosen: dict[str, FleetSession] = {}
    for name in names:
        found = [session for session in sessions if session.session_id.startswith(name)]
        if len(found) != 1:
            what = "no submitted session begins" if not found else f"{len(found)} submitted sessions begin"
            raise UsageError(f"{what} with {name[:70]!a}; quorum fleet status lists them")
        chosen[found[0].session_id] = found[0]
    return tuple(chosen.values())


def _build_mask(loaded: LoadedSettings, root: Path) -> Callable[[str], str]:
    from infrastructure.storage import open_storage

    storage = open_storage(loaded.settings.storage, os.environ)
    try:
        store = SessionStore(
            archive=storage.archive,
            contents=storage.contents,
            settings=loaded.settings,
            root=root,
            cwd=str(root),
        )
        return store.build_mask()
    finally:
        storage.close()
