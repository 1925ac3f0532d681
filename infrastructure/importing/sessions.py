"""Has sessions of other agents become past sessions here.

Several processes read and mask them, and one writes.
"""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

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
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.importing import claude as claude_sessions
from quorum.infrastructure.importing import codex as codex_sessions
from quorum.infrastructure.importing import other_agents
from quorum.infrastructure.importing.places import ImportPlaces
from quorum.infrastructure.importing.session_files import ReadSource, SessionSource
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.session_paths import build_path_policy
from quorum.infrastructure.storage import open_whole_writer

_FEW_BYTES = 20_000_000  # for less, further processes take longer to start than they save
_MOST_FLAWS = 3
_AHEAD = 3  # sessions a process that are read before they are written
_READERS: Mapping[str, ReadSource] = {
    claude_sessions.AGENT: claude_sessions.read_claude_session,
    codex_sessions.AGENT: codex_sessions.read_codex_session,
    other_agents.AGENT: other_agents.read_opencode_session,
}


class ConvertedSession(Struct, frozen=True, kw_only=True):
    """A session with its records; None where it is here already or nobody said anything."""

    size: int
    session: WholeSession | None = None
    flaws: tuple[str, ...] = ()


class SessionsReport(Struct, kw_only=True):
    """How many sessions were added, and sentences about what could not be read or written."""

    added: int = 0
    flaws: list[str] = field(default_factory=list)


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


class _Converter:
    """Converts sessions in one process. `present` are the ids of the sessions that are here."""

    def __init__(self, present: frozenset[str], settings: Settings, root: Path) -> None:
        self._present = present
        self._mask = SecretMask()
        policy = build_path_policy(settings, (root,))
        SessionSecrets(self._mask, settings=settings, environ=os.environ, policy=policy).gather()

    def convert(self, source: SessionSource) -> ConvertedSession:
        """One session. What is wrong with it is said in its flaws."""
        try:
            read = _READERS[source.agent](source)
            if read is None or read.session.session_id in self._present:
                return ConvertedSession(size=source.size)
            events = SessionRecorder(read.session, self._mask).record(read.items)
            values = ((at_ms, event.to_json()) for at_ms, event in events)
            session = chain_session(read.session.session_id, values, _encode)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            return ConvertedSession(size=source.size, flaws=(f"{source.file} is not taken over: {error}",))
        return ConvertedSession(
            size=source.size, session=session if session.chain else None, flaws=_cut_flaws(read.flaws, source)
        )


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


_converter: _Converter | None = None


def _start_process(present: frozenset[str], settings: Settings, root: Path) -> None:
    global _converter
    gc.set_threshold(100_000)  # what is made of a session lives as long as it
    _converter = _Converter(present, settings, root)


def _convert(source: SessionSource) -> ConvertedSession:
    assert _converter is not None
    return _converter.convert(source)


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
    done = 0
    with open_whole_writer(storage) as writer:
        for number, converted in enumerate(_convert_all(sources, present, settings, root), 1):
            report.flaws += converted.flaws
            if converted.session is not None:
                try:
                    report.added += writer.write(converted.session)
                except LedgerError as error:
                    report.flaws.append(f"a session is not taken over: {error}")
            done += converted.size
            tell(number, done)
    return report


def _convert_all(
    sources: Sequence[SessionSource], present: frozenset[str], settings: Settings, root: Path
) -> Iterator[ConvertedSession]:
    workers = min(os.cpu_count() or 1, 8)
    if workers == 1 or sum(source.size for source in sources) < _FEW_BYTES:
        converter = _Converter(present, settings, root)
        yield from map(converter.convert, sources)
        return
    waiting: deque[Future[ConvertedSession]] = deque()
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start_process, initargs=(present, settings, root)
    ) as pool:
        try:
            for source in sources:
                waiting.append(pool.submit(_convert, source))
                if len(waiting) >= workers * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
