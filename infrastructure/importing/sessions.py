"""Has sessions of other agents become past sessions here: several processes do so, and one writes at a time."""

from __future__ import annotations

import atexit
import gc
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from quorum.application.ports.storage import Storage
from quorum.domain.errors import LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.importing.foreign_session import SessionRecorder
from quorum.domain.sessions.ledger_chain import encode_payload
from quorum.domain.sessions.session_facts import WholeSession, chain_session
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.answerer import find_account
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.importing import claude as claude_sessions
from quorum.infrastructure.importing import codex as codex_sessions
from quorum.infrastructure.importing import other_agents
from quorum.infrastructure.importing.places import ImportPlaces, ReadSource, SessionSource
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.storage import build_path_policy, open_storage, open_whole_writer

_FEW_BYTES = 20_000_000  # for less, further processes take longer to start than they save
_MOST_FLAWS = 3
_AHEAD = 3  # sessions a process that wait for it
_MOST_PROCESSES = 8
_Write: TypeAlias = Callable[[WholeSession], bool]
_READERS: Mapping[str, ReadSource] = {
    claude_sessions.AGENT: claude_sessions.read_claude_session,
    codex_sessions.AGENT: codex_sessions.read_codex_session,
    other_agents.AGENT: other_agents.read_opencode_session,
}


class TakenSession(Struct, frozen=True, kw_only=True):
    """What became of a session of so many bytes: it is not added where it is here already, or nobody said
    anything. `failure` is why it could not be written."""

    size: int
    is_added: bool = False
    failure: str = ""
    flaws: tuple[str, ...] = ()


class SessionsReport(Struct, kw_only=True):
    """How many sessions were added, and sentences about what could not be read or written."""

    added: int = 0
    flaws: list[str] = field(default_factory=list)


class _Terms(Struct, frozen=True, kw_only=True):
    """What all processes are told: the ids of the sessions that are here, the settings, and the folder."""

    present: frozenset[str]
    settings: Settings
    root: Path


def list_sources(agents: Iterable[str], places: ImportPlaces) -> tuple[list[SessionSource], list[str]]:
    """The sessions that these agents keep, and sentences about what could not be read. Blocks."""
    found: list[SessionSource] = []
    problems: list[str] = []
    lists: Mapping[str, Callable[[], Iterator[SessionSource]]] = {
        "claude": lambda: claude_sessions.list_claude_sessions(places.locate("CLAUDE_CONFIG_DIR", ".claude")),
        "codex": lambda: codex_sessions.list_codex_sessions(places.locate("CODEX_HOME", ".codex")),
        "opencode": lambda: other_agents.list_opencode_sessions(places.locate_data("opencode")),
    }
    for agent in agents:
        try:
            found += lists[agent]() if agent in lists else ()
        except (OSError, ValueError) as error:
            problems.append(f"the sessions of {agent} are not taken over: {error}")
    return found, problems


class _SessionImport:
    """Takes sessions over in one process. `turn` is held while one is written."""

    def __init__(self, terms: _Terms, write: _Write, turn: AbstractContextManager[object]) -> None:
        self._present, self._write, self._turn = terms.present, write, turn
        self._mask = SecretMask()
        policy = build_path_policy(terms.settings, (terms.root,))
        SessionSecrets(self._mask, settings=terms.settings, environ=os.environ, policy=policy).gather()

    def take_over(self, source: SessionSource) -> TakenSession:
        """One session. What is wrong with it is said in its flaws."""
        try:
            read = _READERS[source.agent](source)
            if read is None or read.session.session_id in self._present:
                return TakenSession(size=source.size)
            events = SessionRecorder(read.session, self._mask, find_account()).record(read.items)
            values = ((at_ms, event.to_json()) for at_ms, event in events)
            session = chain_session(read.session.session_id, values, _encode)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            return TakenSession(size=source.size, flaws=(f"{source.file} is not taken over: {error}",))
        is_added, failure = False, ""
        if session.chain:
            try:
                with self._turn:
                    is_added = self._write(session)
            except LedgerError as error:
                failure = str(error)
        flaws = _cut_flaws(read.flaws, source)
        return TakenSession(size=source.size, is_added=is_added, failure=failure, flaws=flaws)


def _cut_flaws(flaws: Sequence[str], source: SessionSource) -> tuple[str, ...]:
    rest = len(flaws) - _MOST_FLAWS
    more = (f"{source.file}: {format_amount(rest, 'more line')} cannot be read",) if rest > 0 else ()
    return (*flaws[:_MOST_FLAWS], *more)


def _encode(event: JsonObject) -> bytes:
    """An event as a record keeps it, faster where nothing in it needs to be escaped."""
    try:
        return msgspec.json.encode(event)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        return encode_payload(event)


_import: _SessionImport | None = None


def _start_process(terms: _Terms, turn: AbstractContextManager[object]) -> None:
    global _import
    end_with_parent()
    gc.set_threshold(100_000)  # what is made of a session lives as long as it
    stack = ExitStack()
    atexit.register(stack.close)
    storage = stack.enter_context(closing(open_storage(terms.settings.storage, os.environ)))
    _import = _SessionImport(terms, stack.enter_context(open_whole_writer(storage)).write, turn)


def end_with_parent() -> None:
    """End this process once the one that started it is killed: it would wait for more for ever."""
    Thread(target=_await_end_of_parent, daemon=True).start()


def _await_end_of_parent() -> None:
    parent = parent_process()
    assert parent is not None, "it was started by another one"
    wait([parent.sentinel])
    os._exit(1)


def _take_over(source: SessionSource) -> TakenSession:
    assert _import is not None
    return _import.take_over(source)


def import_sessions(
    sources: Sequence[SessionSource],
    storage: Storage,
    *,
    present: frozenset[str],
    settings: Settings,
    root: Path,
    tell: Callable[[int, int], None],
) -> SessionsReport:
    """Add the sessions that are not here yet, each in one transaction; begun again, it continues. Blocks.

    `tell` is given how many sessions and bytes are done. Raises ConfigError for a storage that cannot keep
    them.
    """
    report = SessionsReport()
    done, terms = 0, _Terms(present=present, settings=settings, root=root)
    failures = Counter[str]()
    with open_whole_writer(storage) as writer, _noted_in(report.flaws):
        for number, taken in enumerate(_take_over_all(sources, terms, writer.write), 1):
            report.flaws += taken.flaws
            report.added += taken.is_added
            failures.update(filter(None, (taken.failure,)))
            done += taken.size
            tell(number, done)
    report.flaws += (  # a full disk fails all the others, too
        f"{format_amount(count, 'session')} not taken over: {failure}" for failure, count in failures.items()
    )
    return report


@contextmanager
def _noted_in(flaws: list[str]) -> Iterator[None]:
    """What ends the import early: what was taken over stays, and it can be begun again."""
    try:
        yield
    except BrokenProcessPool:
        flaws.append(
            "the import was broken off: one of its processes was killed, as where memory is short, or could "
            "not start; what was taken over stays: run quorum import again"
        )


def _take_over_all(sources: Sequence[SessionSource], terms: _Terms, write: _Write) -> Iterator[TakenSession]:
    """By several processes, which write by themselves: to hand a session on takes longer than to write it."""
    workers = min(os.cpu_count() or 1, _MOST_PROCESSES)
    if workers == 1 or sum(source.size for source in sources) < _FEW_BYTES:
        yield from map(_SessionImport(terms, write, nullcontext()).take_over, sources)
        return
    context = get_context("spawn")
    waiting: deque[Future[TakenSession]] = deque()
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_process, initargs=(terms, context.Lock())
    ) as pool:
        try:
            for source in sources:
                waiting.append(pool.submit(_take_over, source))
                if len(waiting) >= workers * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
