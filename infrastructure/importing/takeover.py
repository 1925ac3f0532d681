"""Reads the setups of other agents, and writes what is taken over: rules, then settings, files and sessions.

What is here already stays as it is.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from datetime import UTC, datetime
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from quorum.application.ports.storage import Storage
from quorum.domain.errors import LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.importing.foreign_session import AgentSetup, SessionRecorder, TakeoverItem
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PROTECTED, SENSITIVE
from quorum.domain.review.permission_rules import Answer, Rule, SavedRule
from quorum.domain.sessions.ledger_chain import encode_payload
from quorum.domain.sessions.session_facts import WholeSession, chain_session
from quorum.domain.settings import DEFAULTS_ENTRY
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.answerer import find_account
from quorum.infrastructure.config.config_file import ConfigFile
from quorum.infrastructure.config.foreign_file import add_linked_paths
from quorum.infrastructure.config.paths import is_present
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_file import TomlFile, escape_path
from quorum.infrastructure.config.toml_text import KeyPath
from quorum.infrastructure.importing import claude as claude_sessions
from quorum.infrastructure.importing import codex as codex_sessions
from quorum.infrastructure.importing import other_agents
from quorum.infrastructure.importing.claude import read_claude
from quorum.infrastructure.importing.codex import read_codex
from quorum.infrastructure.importing.other_agents import read_copilot, read_gemini, read_kimi, read_opencode
from quorum.infrastructure.importing.places import ImportPlaces, ReadSource, SessionSource
from quorum.infrastructure.permissions.rule_file import RuleFile
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.storage import build_path_policy, open_storage, open_whole_writer

READERS: Mapping[str, Callable[[ImportPlaces], AgentSetup]] = {
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "copilot": read_copilot,
    "opencode": read_opencode,
    "kimi": read_kimi,
}
"""What reads the things of an agent, by its name on the command line."""


def read_setups(names: Iterable[str], places: ImportPlaces) -> list[AgentSetup]:
    """What is found of these agents. Of two things that would become one here the first is taken. Blocks."""
    taken: dict[str, str] = {}
    setups: list[AgentSetup] = []
    for setup in (READERS[name](places) for name in names):
        findings = tuple(_settle(finding, setup.agent, taken) for finding in setup.findings)
        if findings or setup.problems:
            setups.append(replace(setup, findings=findings))
    return setups


def _settle(finding: TakeoverItem, agent: str, taken: dict[str, str]) -> TakeoverItem:
    if finding.rule is not None:
        rule = add_linked_paths(finding.rule, finding.project or "")
        here = ", ".join(f"{rule.answer} {text}" for text in rule.rules)
        finding = replace(finding, rule=rule, here=here)
    for name in (finding.target, *finding.server):
        if name and (first := taken.setdefault(name, agent)) != agent:
            why = f"not taken over: that of {first} is taken"
            return replace(finding, here="", why=why, server={}, source="", target="")
    return finding


_LISTS = {"sensitive": SENSITIVE, "protected": PROTECTED}


class TakeoverReport(Struct, frozen=True, kw_only=True):
    """How much was written. `problems` are sentences about what could not be."""

    rules: int = 0
    servers: int = 0
    hooks: int = 0
    files: int = 0
    problems: tuple[str, ...] = ()


def take_over(findings: Sequence[TakeoverItem], *, rules: RuleFile, settings: ConfigFile) -> TakeoverReport:
    """Write all of it; done again, nothing changes. Blocks. Raises ConfigError for files of ours that cannot
    be changed; what was written before that stays, denials first."""
    new = select_new_rules(findings, rules)
    if new:
        rules.save_all(new)
    servers = {name: values for each in findings for name, values in each.server.items()}
    values: dict[KeyPath, object] = {
        ("mcp", "servers", name, key): value
        for name, table in servers.items()
        if isinstance(table, dict)
        for key, value in table.items()
    }
    for name, paths in list_new_paths(findings, settings.path).items():
        values["review", name] = [*_read_list(settings.path, name), *paths]
    if values:
        settings.set_all(values, seen=settings.preview(values))
    hooks = [each.hook for each in findings if each.hook]
    if hooks:
        settings.append_tables("hooks", hooks)
    files, problems = _copy_files(each for each in findings if each.target)
    return TakeoverReport(
        rules=len(new), servers=len(servers), hooks=len(hooks), files=files, problems=tuple(problems)
    )


def select_new_rules(findings: Iterable[TakeoverItem], file: RuleFile) -> list[SavedRule]:
    """The rules that are not saved yet, denials first."""
    present = [placed.saved for placed in file.read_rules()]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    new: list[SavedRule] = []
    for each in findings:
        for text in each.rule.rules if each.rule is not None else ():
            assert each.rule is not None
            rule = SavedRule(
                rule=Rule.parse(text, each.rule.answer, each.place), project=each.project, saved=now
            )
            if not any(rule.is_like(other) for other in (*present, *new)):
                new.append(rule)
    order = (Answer.DENY, Answer.ASK, Answer.ALLOW)
    return sorted(new, key=lambda saved: order.index(saved.rule.answer))


def list_new_paths(findings: Iterable[TakeoverItem], file: Path) -> Mapping[str, Sequence[str]]:
    """What the lists of paths of `[review]` in the person's own file get, by their names. Blocks. Raises
    ConfigError."""
    rules = [each.rule for each in findings if each.rule is not None]
    found: dict[str, Sequence[str]] = {}
    for name, usual in _LISTS.items():
        listed = _read_list(file, name)
        present = {*listed, *(usual if DEFAULTS_ENTRY in listed else ())}
        denied = dict.fromkeys(path for rule in rules for path in getattr(rule, name))
        if new := [path for path in denied if path not in present]:
            found[name] = new
    return found


def _read_list(path: Path, name: str) -> Sequence[str]:
    """The list in the file; the entry for the usual one where it has none."""
    review = TomlFile.read(path).data.get("review") if is_present(path) else None
    given = review.get(name) if isinstance(review, dict) else None
    return given if isinstance(given, list) else [DEFAULTS_ENTRY]


def _copy_files(findings: Iterable[TakeoverItem]) -> tuple[int, list[str]]:
    """Copy files and folders to where nothing is yet: how many, and why others could not be."""
    copied, problems = 0, list[str]()
    for each in findings:
        source, target = Path(each.source), Path(each.target)
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.path.lexists(target):
                raise FileExistsError(17, "something is there by now")
            _copy(source, target)
            copied += 1
        except OSError as error:
            problems.append(f"{escape_path(source)} is not copied to {escape_path(target)}: {error.strerror}")
    return copied, problems


def _copy(source: Path, target: Path) -> None:
    """Have there be all of it or nothing, whenever this ends."""
    with TemporaryDirectory(prefix=".import-", dir=target.parent) as folder:
        copy = Path(folder) / target.name
        if source.is_dir():
            shutil.copytree(source, copy, symlinks=True)
        else:
            shutil.copyfile(source, copy)
        copy.rename(target)


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
