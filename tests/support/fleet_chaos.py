"""A fleet under the worst conditions: workers are killed, the database restarts, the object store fails."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from quorum.application.turn.recovery import NEVER_BEGUN
from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    Event,
    QuorumConcluded,
    ReviewDecided,
    SessionResumed,
)
from quorum.domain.fleet_session import FleetState
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.fleet import PostgresFleet
from tests.support.failing_store import FailingStore
from tests.support.fleet_models import COMMANDS_FILE, EDITED_FILE, LAST_LINE, FleetModels, write_prompt
from tests.support.fleet_workers import find_worker
from tests.support.headless_run import QUORUM, configure, environment
from tests.support.postgres_server import PostgresForTests

_LEFT_OVER = (".quorum-new", ".quorum-old")
_PARENT_EVERY = 50
_REPORT_SECS = 60.0
_MOST_HISTORIES = 10
_FEW = 20
"""To look at the lines of more sessions than these all the time would take the machine from the workers."""


@dataclass(kw_only=True)
class Findings:
    """What the records of the sessions and their folders say of each other."""

    reviews: int = 0
    """Calls of which a review was decided."""
    by_person: int = 0
    polls: int = 0
    """How often the reviewers were all asked: again where the process was killed meanwhile."""
    lines: int = 0
    unknown: int = 0
    unfinished: int = 0
    """Sessions that had not ended when the patience did."""
    left_over: int = 0
    """Files of edits that were killed before they changed the name."""
    not_run: int = 0
    """Calls whose process was killed before their start, as the model is told."""
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    histories: list[str] = field(default_factory=list)
    """What is on record of the calls of the first sessions with something lost or doubled."""


@dataclass(frozen=True, kw_only=True)
class ChaosReport:
    sessions: int
    workers: int
    secs: float
    kills: int
    parents_killed: int
    restarts: int
    failed_requests: int
    requests: int
    set_aside: int
    findings: Findings
    verified: bool

    @property
    def has_failed(self) -> bool:
        """Whether anything was lost, happened twice or does not verify."""
        return bool(self.findings.lost or self.findings.doubled) or not self.verified

    def __str__(self) -> str:
        found = self.findings
        lines = [
            f"{self.sessions} sessions, {self.workers} workers, {self.secs:.0f} s: "
            f"{found.reviews} calls reviewed, {found.by_person} of them by a person, "
            f"{found.reviews / self.secs:.2f} a second",
            f"{self.kills} workers killed, {self.parents_killed} of them with their parent, "
            f"{self.restarts} restarts of the database, "
            f"{self.failed_requests} failed requests of the object store",
            f"{self.requests} requests to models, {found.polls} polls of the reviewers",
            f"{found.lines} lines written, {found.unknown} calls unknown, {found.not_run} not begun, "
            f"{found.left_over} files of killed edits left over",
            f"{self.set_aside} times a session was set aside and queued again",
            f"{found.unfinished} sessions unfinished, {len(found.lost)} lost, {len(found.doubled)} doubled, "
            f"chains {'hold' if self.verified else 'DO NOT HOLD'}",
            *(f"lost: {each}" for each in found.lost),
            *(f"doubled: {each}" for each in found.doubled),
            *found.histories[:_MOST_HISTORIES],
        ]
        return "\n".join(lines)


class FleetChaos:
    """One run: each session has that many calls reviewed by three models, and the last one of every
    `ask_every`-th session by a person.

    A worker is killed every `kill_secs`, `most_kills` in all; every 50th time not the worker itself, for which
    its parent starts another, but the parent. Every second worker is that of the program `beside`, another
    version of quorum. `report` is called each minute. Every fifth call prints a long output, too, which goes
    into the object store.
    """

    def __init__(
        self,
        folder: Path,
        server: PostgresForTests,
        *,
        sessions: int,
        workers: int,
        reviews: int = 1,
        ask_every: int = 1,
        kill_secs: float = 1.0,
        most_kills: int | None = None,
        patience_secs: float = 3600.0,
        beside: Path | None = None,
        report: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._report = report
        self._programs = (QUORUM,) if beside is None else (QUORUM, beside)
        self._kill_secs = kill_secs
        self._most_kills = most_kills
        self._patience_secs = patience_secs
        self._server = server
        self._sessions = sessions
        self._reviews = reviews
        self._workers = workers
        self._chance = random.Random(1)
        self._home, self._project = folder / "home", folder / "project"
        self._store = FailingStore()
        self._models = FleetModels(ask_every=ask_every)
        self._environment = environment(
            self._home,
            AWS_ACCESS_KEY_ID="someone",
            AWS_SECRET_ACCESS_KEY="hunter2",
            AWS_REGION="us-east-1",
            AWS_ENDPOINT_URL=self._store.url,
        )
        self._storage = StorageTable(url=server.new_database(), blobs="s3://outputs")
        configure(
            self._home,
            f'{self._models.settings}[storage]\nurl = "{self._storage.url}"\nblobs = "{self._storage.blobs}"\n'
            '[review]\nmode = "quorum"\n[tools.output]\ninline_bytes = 1024\n',
        )
        self._kills = self._parents_killed = self._restarts = self._set_aside = 0
        self._running: list[subprocess.Popen[bytes]] = []
        self._fleet = PostgresFleet(parse_address(self._storage.url), {})

    def run(self, *, calm: bool = False) -> ChaosReport:
        """Run all sessions to their ends."""
        stop = threading.Event()
        helpers = [threading.Thread(target=self._approve, args=(stop,))]
        if not calm:
            helpers.append(threading.Thread(target=self._kill_workers, args=(stop,)))
        try:
            self._submit()
            begun = time.monotonic()
            self._running = [self._start_worker(place) for place in range(self._workers)]
            for helper in helpers:
                helper.start()
            try:
                self._wait_for_all(calm=calm)
            finally:
                stop.set()
                for helper in helpers:
                    helper.join()
            secs = time.monotonic() - begun
            self._end_workers()
            return self._check(secs)
        finally:
            self._end_workers()
            self._fleet.close()
            self._models.close()
            self._store.close()

    def _end_workers(self) -> None:
        for worker in self._running:
            worker.kill()
            worker.wait()

    def _submit(self) -> None:
        lines = []
        for number in range(self._sessions):
            folder = self._project / str(number)
            folder.mkdir(parents=True)
            (folder / EDITED_FILE).write_text(f"{LAST_LINE}\n")
            prompt = write_prompt(number, self._reviews)
            lines.append(json.dumps({"prompt": prompt, "name": str(number), "cwd": str(folder)}))
        done = self._quorum("fleet", "submit", "-", given="\n".join(lines))
        assert done.returncode == 0, done.stderr

    def _wait_for_all(self, *, calm: bool) -> None:
        """Return once all sessions have ended, or the patience has. Meanwhile the database restarts, for the
        first time after a quarter of the calls."""
        begun = time.monotonic()
        until, told = begun + self._patience_secs, begun
        quarter = self._sessions * self._reviews // 4
        while (ended := self._count_ended()) < self._sessions:
            if (now := time.monotonic()) > until:
                return
            calls = self._count_calls()
            if now >= told:
                told += _REPORT_SECS
                self._report(
                    f"{now - begun:.0f} s: {calls} lines, {ended} sessions ended, {self._kills} kills, "
                    f"{self._restarts} restarts, load {os.getloadavg()[0]:.1f}"
                )
            if not calm and calls >= (self._restarts + 1) * quarter:
                self._server.stop()
                time.sleep(1)
                self._server.start()
                self._restarts += 1
            time.sleep(1.0 if self._sessions > _FEW else 0.2)

    def _count_ended(self) -> int:
        """How many have ended, but for those that lost their worker too often in a row: a person, who sees that
        they are not the cause, queues them again."""
        try:
            sessions = self._fleet.list_sessions()
            aside = self._fleet.retry([each.session_id for each in sessions if each.is_set_aside])
        except LedgerError:
            return 0
        self._set_aside += len(aside)
        return sum(each.state.is_final and each.session_id not in aside for each in sessions)

    def _count_calls(self) -> int:
        """How many lines were written: about as many calls have ended."""
        return sum(file.read_bytes().count(b"\n") for file in self._project.glob("*/*.txt")) - self._sessions

    def _kill_workers(self, stop: threading.Event) -> None:
        """Kill one at a time. Its parent starts another in its place, unless it is killed itself."""
        while self._kills != self._most_kills and not stop.wait(self._kill_secs):
            for place, parent in enumerate(self._running):
                if parent.poll() is not None:  # it was started while the database was away
                    self._running[place] = self._start_worker(place)
            victims = {place: find_worker(parent.pid) for place, parent in enumerate(self._running)}
            able = [place for place, worker in victims.items() if worker is not None]
            if not able:
                continue  # all are just starting
            place = self._chance.choice(able)
            self._kills += 1
            if self._kills % _PARENT_EVERY == 0:
                self._running[place].kill()
                self._running[place].wait()
                self._running[place] = self._start_worker(place)
                self._parents_killed += 1
            elif (worker := victims[place]) is not None:
                with suppress(ProcessLookupError):  # its parent may have replaced it already
                    os.kill(worker, signal.SIGKILL)

    def _approve(self, stop: threading.Event) -> None:
        """Answer whatever waits, over and over: many answers come twice, or too late."""
        while not stop.wait(0.5):
            if not self._count(lambda state: state is FleetState.REVIEW_OPEN):
                continue  # the machine is for the workers
            listed = self._quorum("inbox", "list", "--json")
            if listed.returncode == 0:
                for review in json.loads(listed.stdout):
                    self._quorum("inbox", "approve", review["digest"])

    def _count(self, fits: Callable[[FleetState], bool]) -> int:
        """How many sessions are in such a state; none while the database is away."""
        try:
            return sum(fits(session.state) for session in self._fleet.list_sessions())
        except LedgerError:
            return 0

    def _start_worker(self, place: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self._programs[place % len(self._programs)], "fleet", "work", "-q"],
            cwd=self._project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if not os.environ.get("CHAOS_LOG") else None,
        )

    def _quorum(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [QUORUM, *arguments],
            cwd=self._project,
            env=self._environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    def _check(self, secs: float) -> ChaosReport:
        self._store.failures = 0.0
        verified = self._quorum("sessions", "verify", "--all")
        return ChaosReport(
            sessions=self._sessions,
            workers=self._workers,
            secs=secs,
            kills=self._kills,
            parents_killed=self._parents_killed,
            restarts=self._restarts,
            failed_requests=self._store.failed,
            requests=self._models.requests,
            set_aside=self._set_aside,
            findings=asyncio.run(self._find()),
            verified=verified.returncode == 0,
        )

    async def _find(self) -> Findings:
        findings = Findings()
        known = {session.name: session for session in self._fleet.list_sessions()}
        storage = open_storage(self._storage, self._environment)
        try:
            for number in range(self._sessions):
                session = known.pop(str(number), None)
                if session is None:
                    findings.lost.append(f"{number}: not there")
                    continue
                if not session.state.is_final:
                    findings.unfinished += 1
                elif session.advance.status != "completed":
                    findings.lost.append(f"{number}: {session.state}, {session.advance}")
                try:
                    records = await storage.archive.read(session.session_id)
                except LedgerError:
                    if session.state.is_final:
                        raise
                    continue  # nothing has begun it
                events = [record.event for record in records]
                before = len(findings.lost) + len(findings.doubled)
                self._compare(findings, number, events, is_final=session.state.is_final)
                if len(findings.lost) + len(findings.doubled) > before:
                    findings.histories.append(f"session {number}: {' | '.join(_describe_calls(events))}")
        finally:
            storage.close()
        findings.doubled += [f"{name}: nobody submitted it" for name in known]
        return findings

    def _compare(
        self, findings: Findings, number: int, events: Sequence[Event | None], *, is_final: bool
    ) -> None:
        """What a session has on record of its calls, and the lines in its folder."""
        folder = self._project / str(number)
        written = [folder / EDITED_FILE, folder / COMMANDS_FILE]
        # An edit that was killed before it changed the name of the file leaves the new content beside it.
        others = {*folder.iterdir()} - {*written}
        findings.left_over += sum(other.name.endswith(_LEFT_OVER) for other in others)
        findings.doubled += [
            f"{other}: a file of no call" for other in others if not other.name.endswith(_LEFT_OVER)
        ]
        lines = Counter(line for file in written if file.exists() for line in file.read_text().split())
        del lines[LAST_LINE]
        findings.lines += lines.total()
        findings.doubled += [line for line, count in lines.items() if count > 1]
        decided = {event.context.call_id for event in events if isinstance(event, ReviewDecided)}
        findings.reviews += len(decided)
        started = Counter(event.context.call_id for event in events if isinstance(event, CallStarted))
        findings.doubled += [f"{number}: {call} started again" for call, count in started.items() if count > 1]
        every_end = [event for event in events if isinstance(event, CallFinished)]
        ends = [end for end in every_end if end.context.call_id.startswith("c")]  # the rest only reads
        polls = [event for event in events if isinstance(event, QuorumConcluded)]
        findings.polls += len(polls)
        findings.by_person += len({poll.context.call_id for poll in polls if not poll.approved})
        if is_final and len(ends) != self._reviews:
            findings.lost.append(f"{number}: {len(ends)} results of {self._reviews}")
        for end in ends:
            name = f"{number}.{end.context.call_id.removeprefix('c')}"
            count = lines.pop(name, 0)
            match end.outcome:
                case outcome if end.context.call_id not in decided and outcome is not Outcome.NOT_RUN:
                    findings.lost.append(f"{name}: {outcome} without a decision, {end.output[:200]}")
                case Outcome.OK if count:
                    pass
                case Outcome.UNKNOWN:
                    findings.unknown += 1
                case Outcome.NOT_RUN if NEVER_BEGUN in end.output and not count:
                    findings.not_run += 1
                case _:
                    findings.lost.append(f"{name}: {end.outcome}, {count} lines, {end.output[:200]}")
        if is_final:  # else a call may have been killed while it ran
            findings.doubled += [f"{line}: of no call" for line in lines]


def _describe_calls(events: Sequence[Event | None]) -> Iterator[str]:
    for event in events:
        match event:
            case SessionResumed():
                yield "RESUMED"
            case CallStarted() | ReviewDecided() | QuorumConcluded():
                yield f"{event.type} {event.context.call_id}"
            case CallFinished():
                yield f"{event.context.call_id} {event.outcome.value} {event.output[:80]!r}"
            case _:
                pass
