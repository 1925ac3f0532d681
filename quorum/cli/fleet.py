"""`quorum fleet`: many sessions, submitted to a queue and run by workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import Argument, CliCommand, CommandGroup, argument, flag
from quorum.command_line.options import SessionOptions, StartOptions
from quorum.command_line.shared import LIMITS, MODE, MODELS, PLACES, QUIET, list_places
from quorum.command_line.values import parse_count, parse_session_name, refuse_value
from quorum.errors import UsageError, complain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quorum.application.ports.fleet import Fleet
    from quorum.domain.fleet_session import FleetRequest, FleetSession
    from quorum.domain.review.mode import Mode
    from quorum.infrastructure.config.loading import LoadedSettings

_WATCH_SECS = 2.0
_CLEAR = "\x1b[H\x1b[2J"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOptions(StartOptions):
    """The requests: of a `file` ("-": standard input), or one for each of the pull requests (`prs`), with the
    `prompt` that is asked about them."""

    file: str = ""
    prs: bool = False
    prompt: str = ""
    retry_failed: bool = False
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOptions(StartOptions):
    """How many sessions a worker runs at once, and whether it ends when none is queued."""

    concurrency: int = 1
    until_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceOptions(SessionOptions):
    """The whole id of a session. `owner` is a descriptor: once its other end is closed, the process ends."""

    session_id: str = ""
    owner: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusOptions(StartOptions):
    """How the list of sessions is printed, and those in which state, where one is named."""

    watch: bool = False
    json: bool = False
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSessions(StartOptions):
    """Ids of sessions or their beginnings; or all."""

    session: tuple[str, ...] = ()
    all: bool = False


@contextmanager
def _open_fleet(
    options: StartOptions, root: Path, *, starts_worker: bool = False
) -> Iterator[tuple[Fleet, LoadedSettings]]:
    """The fleet of the database that `[storage] url` names. Raises ConfigError, LedgerError and UsageError."""
    from quorum.infrastructure.storage import open_fleet
    from quorum.settings import load

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    if starts_worker:
        check_worker(loaded.settings.review.mode)
    fleet = open_fleet(loaded.settings.storage, os.environ)
    try:
        yield fleet, loaded
    finally:
        fleet.close()


def check_worker(mode: Mode) -> None:
    """Raise UsageError where sessions cannot work in this mode on this machine."""
    from quorum.domain.review.mode import Mode
    from quorum.infrastructure.staging.entering import find_mount_obstacle

    if mode is Mode.STAGED and (why := find_mount_obstacle(os.environ)):
        raise UsageError(f"the mode {mode} cannot be chosen on this machine: {why}; name another --mode")


def _work(options: WorkOptions, root: Path) -> int:
    if not sys.flags.safe_path:
        # Nothing in the folder it is started in may be imported in place of a package.
        os.execv(sys.executable, [sys.executable, "-P", "-m", "quorum", *sys.argv[1:]])
    from quorum.fleet.work import fork_processes

    forked = fork_processes(options)
    if isinstance(forked, int):
        return forked
    import asyncio

    from quorum.fleet.work import advance_sessions

    with _open_fleet(options, root, starts_worker=True) as (fleet, loaded):
        return asyncio.run(
            advance_sessions(
                fleet,
                options,
                root,
                loaded,
                forked,
                concurrency=options.concurrency,
                until_empty=options.until_empty,
            )
        )


def _advance(options: AdvanceOptions, root: Path) -> int:
    from quorum.domain.errors import LedgerError
    from quorum.fleet.advance import BUSY, advance_fleet_session

    session_id = options.session_id
    with ExitStack() as stack:
        try:
            fleet, _ = stack.enter_context(_open_fleet(options, root))
        except LedgerError as error:
            complain([str(error)])
            return BUSY
        if (session := fleet.find(session_id)) is None:
            raise UsageError(f"{session_id[:70]!a} is the id of no submitted session")
        return advance_fleet_session(options, session, root, owner=options.owner)


def _submit(options: SubmitOptions, root: Path) -> int:
    with _open_fleet(options, root) as (fleet, _):
        requests = _gather_requests(options, root)
        submitted = fleet.submit(requests, retry_failed=options.retry_failed)
    for session in submitted:
        print(session.session_id)
    if known := len(requests) - len(submitted):
        complain([f"{known} not submitted: their key was submitted before"])
    return 0


def _gather_requests(options: SubmitOptions, root: Path) -> list[FleetRequest]:
    from quorum.fleet.requests import build_pull_request_requests, read_requests

    if bool(options.file) == options.prs:
        raise UsageError("name a file with requests, or --prs")
    if not options.prs:
        if options.prompt:
            raise UsageError("--prompt is for --prs; each line of a file has a prompt of its own")
        return read_requests(options.file, root, options.priority)
    requests = build_pull_request_requests(root, options.prompt.strip(), options.priority)
    if not requests:
        complain(["no pull request is open"])
    return requests


def _print_status(options: StatusOptions, root: Path) -> int:
    from quorum.fleet.requests import encode_session, render_fleet, render_workers, summarise_fleet

    with _open_fleet(options, root) as (fleet, loaded):
        mask = _build_mask(loaded, root)
        if options.json:
            import json

            listed = _choose_state(fleet.list_sessions(), options.state)
            print(json.dumps([encode_session(session, mask) for session in listed], indent=1))
            return 0
        import time
        from shutil import get_terminal_size

        is_terminal = sys.stdout.isatty()
        if options.watch and not is_terminal:
            raise UsageError(
                "--watch draws on a terminal; elsewhere, call quorum fleet status --json now and then"
            )
        while True:
            size = get_terminal_size()
            sessions = fleet.list_sessions()
            chosen = _choose_state(sessions, options.state)
            width = size.columns if is_terminal else None
            head, *body, _ = render_fleet(chosen, mask, now_ms=fleet.read_clock_ms(), width=width)
            foot = (summarise_fleet(sessions), *render_workers(fleet.list_workers(), sessions, mask))
            if not options.watch:
                print("\n".join((head, *body, *foot)))
                return 0
            room = max(1, size.lines - 2 - len(foot))  # the latest, where not all have room
            sys.stdout.write(_CLEAR + "\n".join((head, *body[-room:], *foot)))
            sys.stdout.flush()
            if all(session.state.is_final for session in sessions):
                print()
                return 0
            time.sleep(_WATCH_SECS)


def _print_metrics(options: StartOptions, root: Path) -> int:
    from quorum.domain.fleet_session import render_prometheus
    from quorum.fleet.metrics import read_fleet_gauges

    with _open_fleet(options, root) as (fleet, loaded):
        print(render_prometheus(read_fleet_gauges(fleet, loaded)), end="")
    return 0


def _choose_state(sessions: Sequence[FleetSession], state: str) -> list[FleetSession]:
    return [session for session in sessions if state.replace("-", " ") in ("", session.state)]


def _print_results(options: ChosenSessions, root: Path) -> int:
    import asyncio

    from quorum.domain.errors import LedgerError
    from quorum.fleet.requests import encode_result
    from quorum.headless.printer import render_json_line
    from quorum.infrastructure.storage import open_storage

    with _open_fleet(options, root) as (fleet, loaded):
        mask = _build_mask(loaded, root)
        sessions = _choose(fleet.list_sessions(), options.session)
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


def _cancel(options: ChosenSessions, root: Path) -> int:
    with _open_fleet(options, root) as (fleet, _):
        if not options.all and not options.session:
            raise UsageError("name the sessions to cancel, or --all")
        if options.all and options.session:
            raise UsageError("--all or some sessions, not both")
        chosen = _choose(fleet.list_sessions(), options.session)
        cancelled = fleet.cancel([session.session_id for session in chosen if not session.state.is_final])
    for session_id in cancelled:
        print(session_id)
    if not cancelled:
        complain(["nothing was cancelled: these sessions have ended"])
    return 0


def _retry(options: ChosenSessions, root: Path) -> int:
    with _open_fleet(options, root) as (fleet, _):
        if options.all == bool(options.session):
            raise UsageError("name the sessions to queue again, or --all")
        chosen = _choose(fleet.list_sessions(), options.session)
        retried = fleet.retry([session.session_id for session in chosen])
    for session_id in retried:
        print(session_id)
    if not retried:
        complain(["nothing was queued again: none of these sessions failed or was set aside"])
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
    from quorum.infrastructure.storage import open_storage
    from quorum.session_store import SessionStore

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


_STATES = ("queued", "running", "review-open", "ended", "failed", "cancelled")


def _parse_state(text: str) -> str:
    if text not in _STATES:
        raise refuse_value(f"{text!r} is none of {', '.join(_STATES)}")
    return text


def _parse_priority(text: str) -> int:
    if text not in {str(number) for number in range(-9, 10)}:
        raise refuse_value(f"{text!r} is not a whole number from -9 to 9")
    return int(text)


def _name_sessions(help: str) -> Argument:
    return argument("session", metavar="ID", type=parse_session_name, nargs="*", help=help)


_SESSION_OPTIONS = (*MODELS, MODE, *LIMITS, *list_places(quiet=QUIET))
COMMAND = CommandGroup(
    {
        "submit": CliCommand(
            SubmitOptions,
            _submit,
            summary="Submit sessions: one for each line of a file, or for each open pull request.",
            details="A line is a JSON object with a prompt, and optionally cwd (the folder, by default this "
            "one), name, priority and key: of all requests with the same key, only the first is ever run. "
            "Either all lines are submitted or none. With --prs, the pull requests of the repository of this "
            "folder are asked of gh, and each is submitted once for each of its heads. The ids of the sessions "
            "are printed.",
            arguments=(
                argument(
                    "file",
                    metavar="FILE",
                    nargs="?",
                    help="the requests, one JSON object per line; - reads stdin",
                ),
                flag("--prs", help="one session for each open pull request, which gh lists"),
                argument("--prompt", metavar="TEXT", help="with --prs: what to do, instead of a review"),
                argument(
                    "--priority",
                    metavar="N",
                    type=_parse_priority,
                    help="from -9 to 9, of requests that name none; higher ones come first; 0 is the default",
                ),
                flag(
                    "--retry-failed",
                    help="submit a key again whose session failed, was cancelled or did not complete",
                ),
                *PLACES,
            ),
            examples=(
                ("quorum fleet submit prompts.jsonl", "in the current folder"),
                ('echo \'{"prompt": "fix the lint errors"}\' | quorum fleet submit -', "from stdin"),
                ("quorum fleet submit --prs", "have every open pull request reviewed"),
            ),
        ),
        "status": CliCommand(
            StatusOptions,
            _print_status,
            is_long_lived=True,
            summary="List the submitted sessions and how far they are, and the workers with what they run.",
            arguments=(
                argument(
                    "--state", metavar="STATE", type=_parse_state, help=f"only those: {', '.join(_STATES)}"
                ),
                flag("--watch", help="show it again every two seconds"),
                flag("--json", help="print it as JSON"),
                *PLACES,
            ),
            examples=(("quorum fleet status --watch", "drawn again every two seconds"),),
        ),
        "work": CliCommand(
            WorkOptions,
            _work,
            is_long_lived=True,
            summary="Run submitted sessions, on this machine, until interrupted.",
            details="Only sessions in this folder or below are run, in the review mode and with the models of "
            "this machine's settings: a submission chooses neither. A call that needs you is left open for "
            "quorum inbox, and its answer queues the session again. Start it on as many machines as you like.",
            arguments=(
                argument(
                    "--concurrency", metavar="N", type=parse_count, help="sessions at once; 1 is the default"
                ),
                flag("--until-empty", help="end when no session is queued"),
                *_SESSION_OPTIONS,
            ),
            examples=(
                ("quorum fleet work --concurrency 4 -C /srv/checkouts", "four sessions at once"),
                (
                    "quorum fleet work --until-empty --mode accept-edits",
                    "for a job of continuous integration",
                ),
            ),
        ),
        "advance": CliCommand(
            AdvanceOptions,
            _advance,
            is_long_lived=True,
            summary="Run one submitted session until it ends or a review needs you, as a worker does.",
            details="It prints one JSON object. The exit code is 3 where a review is left open and 75 where "
            "the session cannot be run now, because another process has it or the database is away.",
            arguments=(
                argument("session_id", metavar="ID", help="the whole id of the session"),
                argument(
                    "--owner",
                    metavar="FD",
                    type=int,
                    help="end when the other end of this descriptor is closed",
                ),
                *_SESSION_OPTIONS,
            ),
            examples=(("quorum fleet advance 01a20ade-cc70-72e5-b337-42a20402355c", "in this process"),),
        ),
        "results": CliCommand(
            ChosenSessions,
            _print_results,
            summary="Print what came of the sessions that have ended, one JSON object per line.",
            details="Each is the object of quorum run --output json, with the name of the session in front.",
            arguments=(_name_sessions("the id of a session, or its beginning; none: all"), *PLACES),
            examples=(("quorum fleet results | jq -r .text", "the answers"),),
        ),
        "metrics": CliCommand(
            StartOptions,
            _print_metrics,
            summary="Print how the fleet stands as numbers, in the text format of Prometheus.",
            details="Workers send the same by OTLP each minute, if the settings name a collector.",
            arguments=PLACES,
            examples=(("quorum fleet metrics > quorum.prom", "for the textfile collector of node_exporter"),),
        ),
        "retry": CliCommand(
            ChosenSessions,
            _retry,
            summary="Queue sessions again that failed, or were set aside.",
            details="Set aside is one whose process was killed three times in a row. Each goes on where its "
            "record ends; a call that was running is not run again.",
            arguments=(
                _name_sessions("the id of a session, or its beginning"),
                flag("--all", help="all that failed or were set aside"),
                *PLACES,
            ),
            examples=(("quorum fleet retry 01a20ade", "that one, once its cause is gone"),),
        ),
        "cancel": CliCommand(
            ChosenSessions,
            _cancel,
            summary="Take sessions from the queue; those that run are interrupted.",
            arguments=(
                _name_sessions("the id of a session, or its beginning"),
                flag("--all", help="all sessions that have not ended"),
                *PLACES,
            ),
            examples=(("quorum fleet cancel --all", "everything that has not ended"),),
        ),
    },
    example=("quorum fleet submit prompts.jsonl", "one session for each line"),
)
