"""Calls that people have to sign, with real keys, by the policy of the machine."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from quorum.infrastructure.config.policy_file import POLICY_PLACE
from tests.support.chromium import CHROMIUM, chromium
from tests.support.headless_run import environment
from tests.support.policy_namespace import Namespace, open_namespace

RULE = '[[signatures]]\ncalls = ["run_command(echo *)"]\nneeded = 2\n'
PROMPT = "run echo made >> made.txt"


class Team:
    """Three people with a home folder each, and one folder of sessions. The first one runs them."""

    def __init__(self, folder: Path) -> None:
        self.homes = {name: folder / name for name in ("ada", "bob", "cyn")}
        policy = RULE
        for name, home in self.homes.items():
            (home / ".ssh").mkdir(parents=True)
            key = home / ".ssh" / "id_ed25519"
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)]
            subprocess.run(words, check=True, timeout=60)
            policy += f"[people.{name}]\nkeys = [{json.dumps(key.with_suffix('.pub').read_text().strip())}]\n"
            policy += 'accounts = ["root"]\n' if name == "ada" else ""
        self.machine: Namespace = open_namespace(folder, policy)

    def quorum(self, *words: str, by: str = "ada", incoming: str = "") -> subprocess.CompletedProcess[str]:
        return self.machine.run(*words, incoming=incoming, HOME=str(self.homes[by]))

    @asynccontextmanager
    async def serve(self, by: str) -> AsyncIterator[str]:
        """The link to the app and the page of pending reviews of one of them."""
        process = await asyncio.create_subprocess_exec(
            *self.machine.build_command("serve", "--approvals", "--port", "0"),
            env=environment(self.machine.home, HOME=str(self.homes[by])),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            await process.stdout.readline()
            yield (await process.stdout.readline()).decode().strip()
        finally:
            process.terminate()
            await process.communicate()

    @property
    def has_run(self) -> bool:
        return (self.machine.work / "made.txt").exists()


@pytest.fixture
def team(tmp_path: Path) -> Team:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    return Team(tmp_path)


def test_no_mode_runs_a_call_that_people_have_to_sign(team: Team) -> None:
    done = team.quorum("run", "--mode", "auto", PROMPT)

    assert done.returncode == 3, done.stdout + done.stderr
    assert not team.has_run
    assert not POLICY_PLACE.file.exists()


@pytest.mark.long
def test_a_call_runs_once_two_others_have_signed_it_and_the_record_shows_their_signatures(team: Team) -> None:
    left = team.quorum("run", "--leave-open", "--output", "json", PROMPT)
    assert left.returncode == 3, left.stderr
    (digest,) = json.loads(left.stdout)["waiting"]

    refused = team.quorum("inbox", "approve", digest, by="ada")
    assert refused.returncode == 2
    assert "you, ada, asked for it; it takes a signature of bob, cyn" in refused.stderr
    first = team.quorum("inbox", "approve", digest, by="bob")
    assert (first.returncode, first.stdout) == (0, "signed by bob; still to sign: cyn\n")
    shown = team.quorum("inbox", "show", digest, by="cyn").stdout
    assert "it takes the signatures of bob, cyn" in shown
    assert "signed by bob; still to sign: cyn" in shown
    assert "signed by bob; still to sign: cyn · " in team.quorum("inbox", by="cyn").stdout

    resume = ("run", "--leave-open", "--output", "json", "--resume", "latest")
    assert team.quorum(*resume).returncode == 3
    assert not team.has_run

    second = team.quorum("inbox", "approve", digest, by="cyn")
    assert second.returncode == 0, second.stderr
    assert "signed by bob, cyn" in second.stdout
    ended = team.quorum(*resume)
    assert ended.returncode == 0, ended.stderr
    assert team.has_run

    exported = json.loads(team.quorum("sessions", "export", "latest", "--format", "json").stdout)
    events = [each["event"] for each in exported["records"]]
    decided = [each for each in events if each["type"] == "review_decided"]
    assert [each["person"] for each in decided[-1]["signatures"]] == ["bob", "cyn"]
    assert decided[-1]["reason"] == "signed by bob, cyn"
    verified = team.quorum("sessions", "verify", "latest")
    assert verified.returncode == 0, verified.stdout
    assert "1 approval signed, as they had to be, by keys of the policy" in verified.stdout
    policy = team.machine.policy.read_text()
    team.machine.policy.write_text(policy.replace("[people.cyn]\nkeys", "[people.cyn]\nkeys = []\nrevoked"))
    assert "is revoked; still to sign: cyn" in team.quorum("sessions", "verify", "latest").stdout


@pytest.mark.long
def test_what_is_written_into_the_database_without_a_key_counts_for_nothing(team: Team) -> None:
    left = team.quorum("run", "--leave-open", "--output", "json", PROMPT)
    (digest,) = json.loads(left.stdout)["waiting"]
    assert team.quorum("inbox", "approve", digest, by="bob").returncode == 0
    (ledger,) = (team.machine.home / "state").rglob("*.sqlite")
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute(
            "INSERT INTO approval_signatures "
            "SELECT session_id, digest, 'cyn', at_ms, signature FROM approval_signatures"
        )
        connection.execute(
            "INSERT INTO review_answers "
            "SELECT session_id, digest, 1, NULL, 'eve@host', at_ms FROM approval_signatures LIMIT 1"
        )

    resumed = team.quorum("run", "--leave-open", "--resume", "latest")

    assert resumed.returncode == 3, resumed.stderr
    assert not team.has_run


@pytest.mark.long
def test_the_gate_lets_a_call_of_another_agent_run_once_others_have_signed_it(team: Team) -> None:
    call = json.dumps(
        {"tool": "run_command", "arguments": {"command": "echo made"}, "cwd": str(team.machine.work)}
    )
    words = ("gate", "--dialect", "quorum", "--timeout", "60")
    with ThreadPoolExecutor() as pool:
        gate = pool.submit(team.quorum, *words, incoming=call)
        while not (waiting := json.loads(team.quorum("inbox", "--json").stdout)):
            assert not gate.done(), gate.result()
        digest = waiting[0]["digest"]
        for name in ("bob", "cyn"):
            assert team.quorum("inbox", "approve", digest, by=name).returncode == 0
        decided = json.loads(gate.result().stdout)

    assert decided["decision"] == "allow", decided
    assert "signed by bob, cyn" in decided["reasons"]


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")
async def test_a_browser_signs_with_the_key_of_who_serves_the_page(team: Team, tmp_path: Path) -> None:
    left = team.quorum("run", "--leave-open", "--output", "json", PROMPT)
    (digest,) = json.loads(left.stdout)["waiting"]
    said = {}
    async with chromium(tmp_path / "profile") as browser:
        for name in ("ada", "bob", "cyn"):
            async with team.serve(name) as link:
                tab = await browser.open(link, is_stranger=True)
                await tab.shows("location.pathname === '/' && document.readyState === 'complete'")
                await tab.go(f"{link.partition('/enter')[0]}/approvals")
                await tab.read("echo made >> made.txt")
                await tab.evaluate("document.querySelector('a.card').click()")
                await tab.read(f"Sign packet {digest[:12]}")
                await tab.evaluate("document.querySelector('button.approve').click()")
                said[name] = await tab.shows("document.querySelector('p.said[role=status]')?.textContent")

    assert "you, ada, asked for it; it takes a signature of bob, cyn" in said["ada"]
    assert "signed by bob; still to sign: cyn" in said["bob"]
    assert "signed by bob, cyn; all have signed" in said["cyn"]
    ended = team.quorum("run", "--leave-open", "--resume", "latest")
    assert ended.returncode == 0, ended.stderr
    assert team.has_run
    assert (
        "1 approval signed, as they had to be, by keys of the policy"
        in team.quorum("sessions", "verify").stdout
    )
