"""`quorum run --mode staged`: a turn works in a layer, and its effects wait for the one review."""

from __future__ import annotations

import asyncio
import errno
import gc
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quorum.infrastructure.files.inotify import Inotify
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.headless_run import Ended, configure_for, environment, run, run_quorum, start_quorum
from tests.support.layer_process import layers
from tests.support.sse_server import Say, ScriptedCall, SseServer

pytestmark = [pytest.mark.usefixtures("layers"), pytest.mark.long(after=1), needs_bubblewrap]
__all__ = ["layers"]

_CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("read_file", {"path": "app.py"}),
    ("list_directory", {}),
    ("run_command", {"command": "git status --short"}),
    ("edit_file", {"path": "app.py", "old_text": "1", "new_text": "2"}),
    ("write_file", {"path": "made.py", "content": "made = True\n"}),
    ("run_command", {"command": "rm old.py"}),
    ("run_command", {"command": "mkdir -p build && echo x > build/out"}),
    ("write_file", {"path": ".github/workflows/ci.yml", "content": "on: push\n"}),
    ("write_file", {"path": "AGENTS.md", "content": "# Rules\n"}),
    ("run_command", {"command": "chmod +x app.py"}),
    ("run_command", {"command": "python3 -c 'import app; print(app.value)'"}),
    ("run_command", {"command": "rm -rf build"}),
    ("run_command", {"command": "git add -A"}),
    ("run_command", {"command": "git -c user.name=A -c user.email=a@example.org commit -qm second"}),
    ("run_command", {"command": "git log --oneline | wc -l"}),
)


def digest(root: Path) -> str:
    """All names, modes, times and contents below a folder."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        times = status.st_mtime_ns if path.is_file() else 0
        found.update(f"{path.relative_to(root)} {status.st_mode:o} {times} ".encode() + content)
    return found.hexdigest()


def is_kept(folder: Path, content: bytes) -> bool:
    """Whether there is a file below the folder that is named by this content."""
    return any(folder.rglob(hashlib.sha256(content).hexdigest()))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    root.mkdir()
    (root / "app.py").write_text("value = 1\n")
    (root / "old.py").write_text("old = True\n")
    (root / ".env").write_text("TOKEN=hidden-in-the-layer\n")
    (root / ".gitignore").write_text("__pycache__/\n.env\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "first")
    return root


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def script(calls: Sequence[tuple[str, dict[str, object]]]) -> list[Say]:
    """One call an answer, and a last word."""
    replies = [
        Say(calls=[ScriptedCall(f"c{number}", name, json.dumps(arguments))], stop="tool_use")
        for number, (name, arguments) in enumerate(calls)
    ]
    return [*replies, Say(pieces=["done"])]


async def run_staged(tmp: Path, project: Path, replies: Sequence[Say], *words: str) -> Ended:
    async with SseServer("openai") as server:
        server.script = [*replies]
        configure_for(tmp, server)
        return await run(
            *("--mode", "staged", "--output", "json", *words),
            cwd=project,
            env=environment(tmp),
            is_program=True,
        )


def _watch_folders() -> Inotify:
    """The system lets a user have 128 queues of events: those that other tests left are let go of first."""
    gc.collect()
    try:
        return Inotify()
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        pytest.skip("other programs of this user have all queues of events")


async def test_fifteen_calls_ask_nothing_and_change_nothing_outside_of_the_layer(
    tmp_path: Path, project: Path
) -> None:
    before = digest(project)
    watch = _watch_folders()
    folders = {watch.add(above): above for above, _, _ in os.walk(project)}
    (project / "seen").touch()
    (project / "seen").unlink()
    assert {event.name for event in watch.read()} == {"seen"}

    ended = await run_staged(tmp_path, project, script(_CALLS), "do it")

    assert [(folders[event.watch], event.name) for event in watch.read()] == []
    watch.close()
    assert ended.out, ended.err
    report = ended.report
    assert [call["outcome"] for call in report["calls"]] == ["ok"] * len(_CALLS), ended.err
    assert digest(project) == before
    assert ended.code == 3
    assert report["stop_reason"] == "effects_wait"
    staged = report["staged"]
    assert {"app.py", "made.py", "old.py", "AGENTS.md"} <= {each["path"] for each in staged["files"]}
    assert [each["ref"] for each in staged["commits"]] == ["refs/heads/main"]
    assert len(staged["commands"]) == 9
    assert len(staged["digest"]) == 64
    assert f"staged show {staged['layer']}" in ended.err


async def test_what_a_file_held_is_kept_for_a_merge_before_the_person_changes_it_in_the_turn(
    tmp_path: Path, project: Path
) -> None:
    held = b"value = 1\n"
    replies = script([("run_command", {"command": "echo changed > app.py"})])

    def answer(_body: object) -> Say:
        if len(replies) == 1:
            (project / "app.py").write_text("value = 3\n")
        return replies.pop(0)

    async with SseServer("openai") as server:
        server.respond = answer
        configure_for(tmp_path, server)
        words = ("--mode", "staged", "--output", "json", "do it")
        ended = await run(*words, cwd=project, env=environment(tmp_path), is_program=True)

    (change,) = ended.report["staged"]["files"]
    assert change["conflict"], ended.err
    assert is_kept(tmp_path, held)


async def test_reviewers_vote_on_the_effects_at_the_end_and_their_votes_stand_in_every_report(
    tmp_path: Path, project: Path
) -> None:
    ballot = {
        "verdict": "reject",
        "in_scope": "yes",
        "confidence": 1,
        "reason": "no",
        "objection": "made = True",
    }
    cast = Say(calls=[ScriptedCall("v", "cast_ballot", json.dumps(ballot))], stop="tool_use")
    calls = script([_CALLS[4], ("run_command", {"command": "false; exit 3"})])
    async with SseServer("openai") as server:
        server.script = [*calls, cast]
        configure_for(tmp_path, server)
        settings = tmp_path / "config" / "quorum" / "quorum.toml"
        settings.write_text(settings.read_text().replace("[models]", '[models]\nreview = ["local/judge"]', 1))
        env = environment(tmp_path)
        words = ("--mode", "staged", "--output", "json", "do it")
        ended = await run(*words, cwd=project, env=env, is_program=True)
        asked = json.dumps(server.bodies[-1])
    listed = await run_quorum("staged", "show", "--json", cwd=project, env=env, is_program=True)
    shown = await run_quorum("staged", "show", cwd=project, env=env)

    assert listed.code == 0, listed.err
    votes = ended.report["staged"]["votes"]
    assert (votes["verdict"], votes["quoted"]) == ("rejected", {"local/judge": "made.py"}), ended.err
    assert "exit code 3" in asked
    assert "+made = True" in asked
    assert json.loads(listed.out)["votes"] == votes
    assert [each["exit_code"] for each in json.loads(listed.out)["commands"]] == [3]
    assert json.loads(listed.out)["digest"] == votes["digest"] == ended.report["staged"]["digest"]
    assert "the reviewers: 0 for, 1 against" in ended.err
    assert "0 for, 1 against" in shown.out
    assert ended.report["usage"]["input"] == 7 * len(server.bodies), "the vote is paid for, too"
    assert not (project / "made.py").exists()


async def test_what_waits_outlives_a_kill_while_reviewers_vote_and_they_are_asked_again(
    tmp_path: Path, project: Path
) -> None:
    ballot = {"verdict": "approve", "in_scope": "yes", "confidence": 1, "reason": "fine"}
    cast = Say(calls=[ScriptedCall("v", "cast_ballot", json.dumps(ballot))], stop="tool_use")
    async with SseServer("openai") as server:
        configure_for(tmp_path, server)
        settings = tmp_path / "config" / "quorum" / "quorum.toml"
        settings.write_text(settings.read_text().replace("[models]", '[models]\nreview = ["local/judge"]', 1))
        env, replies = environment(tmp_path), script([_CALLS[4]])
        asked = asyncio.Event()

        def answer(_body: object) -> Say:
            if replies:
                return replies.pop(0)
            asked.set()
            return Say(ending="stall")

        server.respond = answer
        words = ("run", "--mode", "staged", "--output", "json")
        killed = await start_quorum(*words, "do it", cwd=project, env=env, is_program=True)
        await asyncio.wait_for(asked.wait(), 120)
        killed.kill()
        await killed.wait()
        server.respond = lambda body: cast if "cast_ballot" in json.dumps(body) else Say(pieces=["done"])
        again = await run_quorum(*words, "--continue", "look", cwd=project, env=env, is_program=True)

    assert not (project / "made.py").exists()
    assert [each["path"] for each in again.report["staged"]["files"]] == ["made.py"], again.err
    assert again.report["staged"]["votes"]["verdict"] == "approved"


async def test_the_next_run_continues_in_the_same_layer_and_leaving_the_mode_shows_the_folder_as_it_was(
    tmp_path: Path, project: Path
) -> None:
    change = [("run_command", {"command": "echo changed > app.py"})]
    first = await run_staged(tmp_path, project, script(change), "change it")

    look = [("run_command", {"command": "cat app.py; python3 -c 'print(len(open(chr(46) + \"env\").read()))'"})]
    async with SseServer("openai") as server:
        configure_for(tmp_path, server)
        server.script = script(look)
        words = ("--mode", "staged", "--output", "json", "--continue", "look")
        again = await run(*words, cwd=project, env=environment(tmp_path), is_program=True)
        seen = json.dumps(server.bodies[-1])

    assert first.report["staged"]["layer"] == again.report["staged"]["layer"]
    assert first.report["session_id"] == again.report["session_id"]
    assert "changed" in seen
    assert "hidden-in-the-layer" not in seen
    assert (project / "app.py").read_text() == "value = 1\n"


async def test_a_session_that_is_continued_stays_in_its_layer_until_another_mode_is_named(
    tmp_path: Path, project: Path
) -> None:
    change = [("run_command", {"command": "echo changed > app.py"})]
    first = await run_staged(tmp_path, project, script(change), "change it")
    look = [("read_file", {"path": "app.py"})]

    async def go_on(*words: str) -> tuple[dict[str, Any], str]:
        server.script = script(look)
        asked = (*words, "--output", "json", "look")
        ended = await run(*asked, cwd=project, env=environment(tmp_path), is_program=True)
        return ended.report, json.dumps(server.bodies[-1])

    async with SseServer("openai") as server:
        configure_for(tmp_path, server)
        board = await run_quorum("board", "--json", cwd=project, env=environment(tmp_path))
        stayed, seen = await go_on("--continue")
        named, _ = await go_on("--resume", first.report["session_id"])
        left, seen_outside = await go_on("--continue", "--mode", "ask")
        after, _ = await go_on("--continue")

    assert stayed["staged"]["layer"] == named["staged"]["layer"] == first.report["staged"]["layer"]
    assert {each["session_id"] for each in (stayed, named, left, after)} == {first.report["session_id"]}
    assert [each["id"] for each in json.loads(board.out)["staged"]] == [first.report["session_id"]]
    assert "changed" in seen
    assert "staged" not in left
    assert "value = 1" in seen_outside
    assert "staged" not in after


async def test_what_the_layer_does_not_hold_needs_an_approval(tmp_path: Path, project: Path) -> None:
    outside = tmp_path / "outside"
    calls: list[tuple[str, dict[str, object]]] = [
        ("write_file", {"path": str(outside), "content": "x"}),
        ("run_command", {"command": "touch made", "outside_sandbox": True}),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}),
    ]
    ended = await run_staged(tmp_path, project, script(calls), "do it")

    assert [call["outcome"] for call in ended.report["calls"]] == ["rejected"] * 3
    assert not outside.exists()


async def test_git_commits_in_the_layer_and_its_settings_stay_as_they_are(
    tmp_path: Path, project: Path
) -> None:
    before = (project / ".git" / "config").read_text()
    command = "git config core.fsmonitor ./made || git config core.fsmonitor; cp /dev/null .git/config"
    ended = await run_staged(tmp_path, project, script([("run_command", {"command": command})]), "do it")

    assert ended.code == 0, ended.out
    assert "staged" not in ended.report
    assert (project / ".git" / "config").read_text() == before


async def test_a_job_ends_with_its_turn_and_what_it_wrote_is_an_effect(tmp_path: Path, project: Path) -> None:
    job = "while true; do date >> log; sleep 0.05; done"
    calls: list[tuple[str, dict[str, object]]] = [
        ("run_command", {"command": job, "background": True}),
        ("run_command", {"command": "until test -s log; do sleep 0.05; done"}),
    ]
    ended = await run_staged(tmp_path, project, script(calls), "do it")

    assert ended.report["jobs"][0]["stopper"] == "turn"
    assert [each["path"] for each in ended.report["staged"]["files"]] == ["log"]
    assert not (project / "log").exists()


async def test_language_servers_see_the_layer_and_end_with_the_turn(tmp_path: Path, project: Path) -> None:
    replies = script(
        [
            ("edit_file", {"path": "app.py", "old_text": "1", "new_text": "nope"}),
            ("run_command", {"command": "echo 'value = missing' > made.py"}),
            ("code_lookup", {"operation": "diagnostics", "path": "made.py"}),
        ]
    )
    async with SseServer("openai") as server:
        server.script = [*replies]
        configure_for(tmp_path, server)
        ruff = Path(sys.executable).parent / "ruff"
        with (tmp_path / "config/quorum/quorum.toml").open("a") as settings:
            settings.write(
                f'[lsp.ruff]\ncommand = ["{ruff}", "server"]\nlanguages = ["python"]\nwait_secs = 30.0\n'
                f'[tools.run_command]\nsandbox_readable = ["{sys.prefix}"]\n'
            )
        words = ("--mode", "staged", "--output", "json", "do it")
        ended = await run(*words, cwd=project, env=environment(tmp_path), is_program=True)

        said = json.dumps(server.bodies[-1])
    assert ended.code == 3, ended.err
    assert "app.py:1: error: Undefined name `nope`" in said
    assert "made.py:1: error: Undefined name `missing`" in said
    assert [each["path"] for each in ended.report["staged"]["files"]] == ["app.py", "made.py"]
    assert (project / "app.py").read_text() == "value = 1\n"


async def test_an_added_folder_is_refused_with_the_reason(tmp_path: Path, project: Path) -> None:
    (tmp_path / "library").mkdir()

    ended = await run_staged(tmp_path, project, [], "--add-dir", str(tmp_path / "library"), "do it")

    assert ended.code == 2
    assert "a layer, which holds the workspace alone" in ended.err


async def test_hosts_that_commands_asked_for_are_in_the_packet_and_others_are_not_reached(
    tmp_path: Path, project: Path
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nwelcome")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.2", 0) as site, SseServer("openai") as server:
        address = f"127.0.0.2:{site.sockets[0].getsockname()[1]}"
        command = f"curl -s http://{address}/ > page; curl -s http://elsewhere.example/; echo done >> page"
        server.script = script([("run_command", {"command": command})])
        configure_for(tmp_path, server)
        settings = tmp_path / "config" / "quorum" / "quorum.toml"
        settings.write_text(f'{settings.read_text()}[tools.run_command]\nnetwork = ["127.0.0.2"]\n')
        words = ("--mode", "staged", "--output", "json", "do it")
        ended = await run(*words, cwd=project, env=environment(tmp_path), is_program=True)

    staged = ended.report["staged"]
    assert {address, "elsewhere.example (refused)"} <= set(staged["hosts"]), ended.err
    assert [(each["path"], each["added"]) for each in staged["files"]] == [("page", 1)]
