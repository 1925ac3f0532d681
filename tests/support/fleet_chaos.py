"""A fleet under the worst conditions: workers are killed, the database restarts, the object store fails."""

from __future__ import annotations

import http.client
import json
import logging
import os
import random
import re
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from moto.server import ThreadedMotoServer

from application.turn.recovery import NEVER_BEGUN
from domain.errors import LedgerError
from domain.fleet.fleet_session import FleetState
from infrastructure.store.postgres.address import parse_address
from infrastructure.store.postgres.fleet import PostgresFleet
from tests.support.headless_run import QUORUM, configure, environment
from tests.support.postgres_server import PostgresForTests

_PATIENCE_SECS = 3600.0
_FAILURES = 0.1


@dataclass(frozen=True)
class ChaosReport:
    sessions: int
    workers: int
    secs: float
    kills: int
    restarts: int
    failed_requests: int
    lines: int
    unknown: int
    not_run: int
    """Calls whose process was killed between their approval and their start, as the model is told."""
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    verified: bool

    def __str__(self) -> str:
        return (
            f"{self.sessions} sessions, {self.workers} workers, {self.secs:.0f} s "
            f"({self.sessions / self.secs:.2f} a second); {self.kills} workers killed, "
            f"{self.restarts} restarts of the database, {self.failed_requests} failed requests of the object "
            f"store; {self.lines} lines written, {self.unknown} calls unknown, "
            f"{self.not_run} not begun; {len(self.lost)} lost, "
            f"{len(self.doubled)} doubled, chains {'hold' if self.verified else 'DO NOT HOLD'}"
            + "".join(f"\nlost: {each}" for each in self.lost)
        )


class FailingStore:
    """Passes requests on to an object store, and fails one in ten."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._moto.start()
        self._target = self._moto.get_host_and_port()
        self.failures = _FAILURES
        self.failed = 0
        store, chance = self, random.Random(7)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if chance.random() < store.failures:
                    store.failed += 1
                    self._answer(503, {}, b"")
                    return
                line = http.client.HTTPConnection(*store._target, timeout=60)
                headers = dict(self.headers.items())
                line.request(self.command, self.path, body, headers)
                answer = line.getresponse()
                data = answer.read()
                line.close()
                kept = {
                    name: value
                    for name, value in answer.getheaders()
                    if name.lower() not in ("content-length", "connection", "transfer-encoding")
                }
                length = answer.getheader("Content-Length")
                self._answer(answer.status, kept, data, length if self.command == "HEAD" else None)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on

            def _answer(
                self, status: int, headers: dict[str, str], data: bytes, length: str | None = None
            ) -> None:
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", length or str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        make = urllib.request.Request(f"http://{self._target[0]}:{self._target[1]}/outputs", method="PUT")
        urllib.request.urlopen(make).close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._moto.stop()


class FleetChaos:
    """One run: half of the sessions print a long output, too, which goes into the object store.

    A worker is killed every `kill_secs`.
    """

    def __init__(
        self, folder: Path, server: PostgresForTests, *, sessions: int, workers: int, kill_secs: float = 1.0
    ) -> None:
        self._kill_secs = kill_secs
        self._server = server
        self._sessions = sessions
        self._workers = workers
        self._chance = random.Random(1)
        self._home, self._project = folder / "home", folder / "project"
        self._project.mkdir()
        self._store = FailingStore()
        self._environment = environment(
            self._home,
            AWS_ACCESS_KEY_ID="someone",
            AWS_SECRET_ACCESS_KEY="hunter2",
            AWS_REGION="us-east-1",
            AWS_ENDPOINT_URL=self._store.url,
        )
        url = server.new_database()
        configure(
            self._home,
            f'[storage]\nurl = "{url}"\nblobs = "s3://outputs"\n[tools.output]\ninline_bytes = 1024\n',
        )
        self._kills = self._restarts = 0
        self._running: list[subprocess.Popen[bytes]] = []
        self._fleet = PostgresFleet(parse_address(url), {})

    def run(self, *, calm: bool = False) -> ChaosReport:
        """Run all sessions to their ends."""
        stop = threading.Event()
        helpers = [threading.Thread(target=self._approve, args=(stop,))]
        if not calm:
            helpers.append(threading.Thread(target=self._kill_workers, args=(stop,)))
        try:
            self._submit()
            begun = time.monotonic()
            self._running = [self._start_worker() for _ in range(self._workers)]
            for helper in helpers:
                helper.start()
            try:
                self._wait_for_all(calm=calm)
            finally:
                stop.set()
                for helper in helpers:
                    helper.join()
            return self._check(time.monotonic() - begun)
        finally:
            for worker in self._running:
                worker.kill()
                worker.wait()
            self._fleet.close()
            self._store.close()

    def _submit(self) -> None:
        def word(number: int) -> str:
            long = "seq 20000; " if number % 2 else ""
            return json.dumps({"prompt": f"run {long}echo {number} >> {number}.txt", "name": str(number)})

        given = "\n".join(word(number) for number in range(self._sessions))
        done = self._quorum("fleet", "submit", "-", given=given)
        assert done.returncode == 0, done.stderr

    def _wait_for_all(self, *, calm: bool) -> None:
        """Return once all sessions have ended. When half have, the database is restarted."""
        until = time.monotonic() + _PATIENCE_SECS
        while (ended := self._count(lambda state: state.is_final)) < self._sessions:
            assert time.monotonic() < until
            time.sleep(0.2)
            if not calm and not self._restarts and ended >= self._sessions // 2:
                self._server.stop()
                time.sleep(1)
                self._server.start()
                self._restarts += 1

    def _kill_workers(self, stop: threading.Event) -> None:
        """Kill one at a time, and start another in its place."""
        while not stop.wait(self._kill_secs):
            victim = self._chance.randrange(self._workers)
            self._running[victim].kill()
            self._running[victim].wait()
            self._running[victim] = self._start_worker()
            self._kills += 1

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

    def _start_worker(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [QUORUM, "fleet", "work", "-q"],
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
        results = [json.loads(line) for line in self._quorum("fleet", "results").stdout.splitlines()]
        lines = Counter(line for file in self._project.glob("*.txt") for line in file.read_text().split())
        # What a session says of its call, from its record: with a good end its line is there.
        lost, unknown, not_run = [], 0, 0
        for result in results:
            name = result["name"]
            outcomes = [call["outcome"] for call in result.get("calls", ())]
            if result["state"] != "ended" or result["status"] != "completed":
                lost.append(f"{name}: {result}")
            elif "ok" in outcomes and lines[name] != 1:
                lost.append(f"{name}: its line is not there")
            elif "ok" not in outcomes:
                exported = self._quorum("sessions", "export", "--format", "json", result["session_id"]).stdout
                ends = re.findall(r'"outcome": ?"(\w+)"', exported)
                if "unknown" in ends:
                    unknown += 1
                elif "not_run" in ends and NEVER_BEGUN in exported:
                    not_run += 1
                elif "ok" not in ends:
                    lost.append(f"{name}: its call was approved and did not run: {ends}")
        known = {result["name"] for result in results}
        lost += [f"{number}: no result" for number in range(self._sessions) if str(number) not in known]
        verified = self._quorum("sessions", "verify", "--all")
        return ChaosReport(
            sessions=self._sessions,
            workers=self._workers,
            secs=secs,
            kills=self._kills,
            restarts=self._restarts,
            failed_requests=self._store.failed,
            lines=sum(lines.values()),
            unknown=unknown,
            not_run=not_run,
            lost=tuple(lost),
            doubled=tuple(name for name, count in lines.items() if count > 1),
            verified=verified.returncode == 0,
        )
