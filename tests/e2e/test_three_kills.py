"""One session that is killed in an attempt at its goal, in a message that a decision waits, and half signed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import eventually
from tests.support.headless_run import configure_for, environment
from tests.support.policy_namespace import Namespace, open_namespace
from tests.support.sse_server import Say, ScriptedCall, SseServer

CHECK = "sh check.sh"
# Passes once two lines are there. The first time it waits for a file that only the test makes.
SCRIPT = """
if [ ! -e go ]; then touch checking; while [ ! -e go ]; do sleep 0.05; done; fi
[ "$(wc -l < made.txt)" -ge 2 ]
"""
PAGER = r"""#!/bin/sh
printf '%s\n' "$(cat)" >> "$HOME/told.jsonl"
[ -e "$HOME/paged" ] || { touch "$HOME/paged"; until [ -e "$HOME/killed" ]; do sleep 0.1; done; }
"""
# Stands before the real one, and stops before it signs for the first time, until `quorum` is killed.
SIGNER = """#!/bin/sh
case "$*" in
*"-Y sign"*)
    [ -e "$HOME/signing" ] || {
        touch "$HOME/signing"; until [ -e "$HOME/killed" ]; do sleep 0.1; done; exit 1
    };;
esac
exec PROGRAM "$@"
"""
RULE = '[[signatures]]\ncalls = ["run_command(echo signed *)"]\nneeded = 2\npeople = ["ada", "bob", "cyn"]\n'


def call(number: int, command: str) -> Say:
    asked = ScriptedCall(f"c{number}", "run_command", json.dumps({"command": command}))
    return Say(calls=[asked], stop="tool_use")


def make_people(folder: Path) -> tuple[dict[str, Path], str]:
    """The homes of three people with a key each, and the policy that names them; the first one asks."""
    homes, policy = {name: folder / name for name in ("ada", "bob", "cyn")}, RULE
    for name, home in homes.items():
        key = home / ".ssh" / "id_ed25519"
        key.parent.mkdir(parents=True)
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)]
        subprocess.run(words, check=True, timeout=60)
        policy += f"[people.{name}]\nkeys = [{json.dumps(key.with_suffix('.pub').read_text().strip())}]\n"
        policy += 'accounts = ["root"]\n' if name == "ada" else ""
    return homes, policy


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def fill(pipe: int) -> None:
    """Have a pipe take nothing more: who prints there waits."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(4096))
    os.set_blocking(pipe, True)


async def kill_once(machine: Namespace, is_reached: Callable[[], bool], *words: str, **more: str) -> None:
    """Start `quorum`, and kill it, and nothing else, as soon as it is where it should be.

    A run cannot end before: it has to print what it came to, and cannot.
    """
    reader, writer = os.pipe()
    if words[0] == "run":
        fill(writer)
    with os.fdopen(reader, "rb") as output:
        process = await asyncio.create_subprocess_exec(
            *machine.build_command(*words),
            env=environment(machine.home, **more),
            stdout=writer,
            stderr=asyncio.subprocess.DEVNULL,
        )
        os.close(writer)
        await eventually(lambda: is_reached() or process.returncode is not None)
        assert process.returncode is None, "it ended before"
        process.kill()
        await process.wait()
        await asyncio.to_thread(output.read)  # to the end: what made the namespace is gone before `quorum` is


@pytest.mark.long
async def test_a_session_of_three_kills_has_its_checks_signatures_receipt_and_chain(tmp_path: Path) -> None:
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("ssh-keygen is not installed")
    homes, policy = make_people(tmp_path)
    machine = open_namespace(tmp_path, policy)
    (machine.work / "check.sh").write_text(SCRIPT)
    (machine.work / "made.txt").write_text("")
    pager = write_program(tmp_path / "tools" / "pager", PAGER)
    signer = write_program(tmp_path / "signer" / "ssh-keygen", SIGNER.replace("PROGRAM", program))
    ada, bob = {"HOME": str(homes["ada"])}, {"HOME": str(homes["bob"])}
    words = ("run", "--mode", "auto", "--leave-open", "--output", "json")

    async def quorum(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(machine.run, *arguments, **more)

    async with SseServer("openai-chat") as server:
        configure_for(machine.home, server)
        settings = machine.home / "config" / "quorum" / "quorum.toml"
        settings.write_text(f'{settings.read_text()}[[push]]\ncommand = ["{pager}"]\nafter_secs = 0\n')

        server.script = [call(1, "echo first >> made.txt"), Say(pieces=["one"])]
        goal = ("--goal", "two lines", "--check", CHECK)
        await kill_once(machine, (machine.work / "checking").exists, *words, *goal, **ada)
        (machine.work / "go").touch()

        server.script = [Say(pieces=["one, again"]), call(2, "echo signed >> made.txt")]
        await kill_once(machine, (homes["ada"] / "paged").exists, *words, "--continue", **ada)
        (homes["ada"] / "killed").touch()
        left = await quorum(*words, "--continue", **ada)
        assert left.returncode == 3, left.stdout + left.stderr
        (digest,) = json.loads(left.stdout)["waiting"]

        path = f"{signer.parent}{os.pathsep}{os.environ['PATH']}"
        signing = ("inbox", "approve", digest)
        await kill_once(machine, (homes["bob"] / "signing").exists, *signing, **bob, PATH=path)
        (homes["bob"] / "killed").touch()
        unsigned = json.loads((await quorum("inbox", "--json", **ada)).stdout)
        first = await quorum(*signing, **bob, PATH=path)
        early = await quorum(*words, "--continue", **ada)
        second = await quorum(*signing, HOME=str(homes["cyn"]))
        server.script = [Say(pieces=["two lines are there"])]
        ended = await quorum(*words, "--continue", **ada)

    verified = await quorum("sessions", "verify", "latest", **ada)
    exported = json.loads((await quorum("sessions", "export", "latest", "--format", "json", **ada)).stdout)
    told = [json.loads(line) for line in (homes["ada"] / "told.jsonl").read_text().splitlines()]

    assert unsigned[0]["signed_by"] == []
    assert first.stdout == "signed by bob; still to sign: cyn\n", first.stderr
    assert early.returncode == 3
    assert "signed by bob, cyn" in second.stdout
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (machine.work / "made.txt").read_text() == "first\nsigned\n"
    reached = json.loads(ended.stdout)["goal"]
    assert (reached["reached"], reached["stale"]) == (True, False)
    assert [run["exit_code"] for run in reached["receipt"]["runs"]] == [0]
    assert {each["digest"] for each in told} == {digest}
    assert "1 approval signed, as they had to be, by keys of the policy" in verified.stdout
    assert verified.returncode == 0
    decided = [each["event"] for each in exported["records"] if each["event"]["type"] == "review_decided"]
    assert [each["person"] for each in decided[-1]["signatures"]] == ["bob", "cyn"]
