"""Kills a working session at random instants, has it taken up again, and checks what holds after each death."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.domain.calls.execution import Outcome
from quorum.domain.events.event import CallFinished, TurnStarted, UserCommandStarted
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.infrastructure.execution.sandbox.opening import remove_abandoned
from quorum.infrastructure.store.ledger.opening import open_database
from tests.support.crash_checks import check, images_of
from tests.support.crash_child import FINISHED, line_of
from tests.support.crash_model import Model, picture
from tests.support.headless_run import configure, environment
from tests.support.sse_server import Dialect

PROMPTS = 3
LONGEST_LIFE_SECS = 1.5
_KEPT = ("ledger.sqlite", "ledger.sqlite-lock", "ledger.sqlite-wal", "ledger.sqlite-shm", "blobs")
_MOST_DEATHS = 60  # a session that is killed sooner than it can begin would never end


@dataclass
class CrashRig:
    """One folder of sessions, and the zygote whose forks are killed. Use as an asynchronous context."""

    folder: Path
    seed: int
    deaths: int = 0
    reviews_found_again: int = 0
    unknown: int = 0
    user_commands: int = 0
    steered: int = 0

    async def __aenter__(self) -> CrashRig:
        self._chance = random.Random(self.seed)
        self._models = {d: Model(d) for d in ("openai-chat", "anthropic")}  # type: ignore[arg-type]
        for model in self._models.values():
            await model.__aenter__()
        self._zygote = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.crash_child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        return self

    async def __aexit__(self, *_exc: object) -> None:
        assert self._zygote.stdin is not None
        self._zygote.stdin.close()
        await self._zygote.wait()
        for model in self._models.values():
            await model.__aexit__()

    async def session(self, number: int) -> None:
        """One session, killed again and again until it lives to its end, and checked after each death."""
        stage = _Stage(self.folder / str(number), self._models)
        deaths = 0
        while True:
            before = await stage.records()
            if not _is_begun(before):  # nothing was asked or run in it, and so another one is begun
                before = ()
            acknowledged = stage.folder / f"acknowledged-{deaths}"
            status = await self._life(stage, acknowledged, mortal=deaths < _MOST_DEATHS)
            await self._check(stage, before, acknowledged)
            if os.WIFEXITED(status):
                assert os.WEXITSTATUS(status) == FINISHED, f"session {number} failed after {deaths} deaths"
                break
            deaths += 1
            self.deaths += 1
        await stage.check_the_end()

    async def _life(self, stage: _Stage, acknowledged: Path, *, mortal: bool) -> int:
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        order = stage.order(self._chance, acknowledged)
        self._zygote.stdin.write(json.dumps(order).encode() + b"\n")
        pid = int(await self._zygote.stdout.readline())
        said = asyncio.ensure_future(self._zygote.stdout.readline())
        early = self._chance.random() < 0.1
        if mortal:
            await asyncio.wait({said}, timeout=self._chance.uniform(0, 0.5) if early else None)
        if said.done() and said.result() == b"began\n":
            said = asyncio.ensure_future(self._zygote.stdout.readline())
            if mortal:
                await asyncio.wait({said}, timeout=self._chance.uniform(0, LONGEST_LIFE_SECS))
        if mortal and not said.done():
            with suppress(ProcessLookupError):  # it may have ended by itself, and its end is not reported yet
                os.kill(pid, signal.SIGKILL)
        while (line := await said) == b"began\n":
            said = asyncio.ensure_future(self._zygote.stdout.readline())
        return int(line)

    async def _check(self, stage: _Stage, before: Sequence[LedgerRecord], acknowledged: Path) -> None:
        records = await stage.records()
        assert [r.seq for r in records] == list(range(len(records)))
        lines = _lines(acknowledged)
        events = [line for line in lines if line.startswith("event ")]
        written = [line_of(record.event) for record in records[len(before) :] if record.event is not None]
        assert written[: len(events)] == events, "an event that was acknowledged is not recorded"
        pending = [
            call.pending.digest
            for call in replay_state(before).open_calls
            if call.pending and not (call.started or call.end)
        ]
        asked = [line.removeprefix("asked ") for line in lines if line.startswith("asked ")]
        if pending and asked:
            assert asked[0] == pending[0], "the review that was open came back with other bytes"
            self.reviews_found_again += 1
        check(records, stage.root)
        ends = [r.event for r in records[len(before) :] if isinstance(r.event, CallFinished)]
        self.unknown += sum(end.outcome is Outcome.UNKNOWN for end in ends)
        self.user_commands += sum(isinstance(r.event, UserCommandStarted) for r in records[len(before) :])
        self.steered += sum(line.startswith("event message_added steer ") for line in written)


class _Stage:
    """The folder of one session: its workspace, its state, and what is to be found there."""

    def __init__(self, folder: Path, models: dict[Dialect, Model]) -> None:
        self.folder = folder
        self._models = models
        self.root, self._home = folder / "work", folder / "home"
        self.root.mkdir(parents=True)
        (self.root / "seed.txt").write_text("seed\n")
        (self.root / "other.txt").write_text("line\n" * 400)
        for number in range(PROMPTS):
            (self.root / f"shot-{number}.png").write_bytes(picture(number))
        providers = "\n".join(
            f'[providers.{name}]\ntype = "{name}"\nbase_url = "{model.base_url}"\napi_key_env = "SCRIPTED"\n'
            for name, model in models.items()
        )
        configure(self._home, f'{providers}\n[tools.run_command]\nsandbox = "off"\n')
        self._environ = environment(self._home, SCRIPTED="no-secret-at-all")

    def order(self, chance: random.Random, acknowledged: Path) -> dict[str, Any]:
        """What the zygote reads; either provider may be the one that goes on."""
        return {
            "root": str(self.root),
            "seed": chance.random(),
            "acknowledged": str(acknowledged),
            "environ": self._environ,
            "model": f"{chance.choice(sorted(self._models))}/scripted",
            "prompts": PROMPTS,
        }

    async def records(self) -> tuple[LedgerRecord, ...]:
        """The records as they lie on the disk now, their chain verified."""
        database = open_database("", self._environ)
        try:
            assert not database.notices, database.notices
            sessions = await database.archive.list_sessions()
            begun = [session for session in sessions if session.is_begun]
            assert len(begun) <= 1, "a session was begun anew instead of taken up"
            for session in begun or sessions[:1]:
                verified = await database.archive.verify(session.id)
                assert verified.holds, verified.reason
                records = await database.archive.read(session.id)
                for image in images_of(replay_state(records).messages):
                    await database.contents.get(image.sha256)  # raises where it is not there, or another
                return records
            return ()
        finally:
            database.close()

    async def check_the_end(self) -> None:
        """What holds once the session has lived to its end."""
        state = replay_state(await self.records())
        assert not (left := self._find_left_overs()), f"left in the state folder: {left}"
        assert not state.open_calls
        assert state.finished
        assert all(command.ended for command in state.user_commands), "a command of the person's never ended"
        assert sum(bool(turn.prompt) for turn in state.turns) == PROMPTS
        assert all(turn.said for turn in state.turns if turn.prompt), "a prompt was never said"

    def _find_left_overs(self) -> list[str]:
        """The files in the state folder that belong neither to the ledger nor to the outputs, of which a start
        clears what is a day old. It is cleared before: the last life may have been too short for that."""
        remove_abandoned(self._environ)
        state = self._home / "state" / "quorum"
        files = (path.relative_to(state) for path in state.rglob("*") if not path.is_dir())
        return [str(file) for file in files if file.parts[0] not in _KEPT]


def _is_begun(records: Sequence[LedgerRecord]) -> bool:
    """Whether a person prompted, or ran a command of their own."""
    return any(isinstance(each.event, TurnStarted | UserCommandStarted) for each in records)


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []
