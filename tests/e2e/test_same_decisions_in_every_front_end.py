"""Two hundred calls through the decision function, `quorum run` and the app: identical decisions."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from quorum.application.ports.people import Approver, PersonAnswer, Question, ReviewQuestion
from quorum.application.ports.tools import CommandTool, SealingTool
from quorum.application.review.approvers import NonInteractiveApprover
from quorum.domain.errors import ToolError
from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import Answer, Subject
from quorum.domain.review.questions import DecisionLabel, Reject
from quorum.infrastructure.container import Container
from tests.support.headless_run import configure, environment, run
from tests.support.real_app import real_app, real_container
from tests.support.sse_server import Say, ScriptedCall, SseServer

MODES = tuple(mode for mode in Mode if not mode.traits.needs_sandbox)
DIALOGS = 12
RULES = """
[permissions]
allow = ["run_command(read-only)", "write_file(generated/**)", "run_command(make *)", "run_command(touch b*)"]
ask = ["read_file(drafts/**)", "run_command(ls -la *)"]
deny = ["run_command(curl *)", "edit_file(vendor/**)", "read_file(vendor/secret.txt)"]

[tools.run_command]
sandbox = "off"

[[guards]]
name = "size"
max_lines = 20
"""
# Empty, so that whether one may be replaced does not depend on what a model has read of it before.
FILES = dict.fromkeys(
    (
        "a.txt",
        "src/b.py",
        "drafts/plan.txt",
        "vendor/lib.py",
        "vendor/secret.txt",
        ".env",
        "keys/server.pem",
        "AGENTS.md",
        ".ci/run",
        "Makefile",
        "script.sh",
    ),
    "",
)
PATHS = [*FILES, "new.txt", "src/new.py", "generated/x.txt", "generated/.env", ".git/config", ".envrc"]
OUTSIDE = ["../outside.txt", "/etc/hostname", "link/outside.txt"]
COMMANDS = [
    *("ls", "ls src", "ls -la src", "cat a.txt", "cat a.txt | wc -l", "head -1 src/b.py && wc a.txt"),
    *("cat .env", "cat ../outside.txt", "cat link/outside.txt", "grep -r alpha .", "grep -rn alpha src"),
    *("git status", "find . -name '*.py'", "find . -name x -delete", "sort -o a2.txt a.txt", "sed -n 1p a.txt"),
    *("make all", "make clean", "make all && make clean", "make all; touch x", "touch built.txt", "touch x"),
    *(
        "echo $HOME",
        "echo $(cat a.txt)",
        "cat *.txt",
        "A=1 ls",
        "ls &",
        "(ls)",
        "ls > out.txt",
        "ls 2>/dev/null",
    ),
    *("rm -rf generated", "git push --force", "sudo true", "sh script.sh", "true", "true ' unclosed", ": # x"),
    *("curl https://example.org", "ls && curl example.org", "curl", "env ls", "xargs ls < a.txt", "ls\x07"),
]


def _edits() -> Iterator[tuple[str, dict[str, object]]]:
    for path in (*PATHS, *OUTSIDE):
        yield "write_file", {"path": path, "content": "alpha\n", "create_dirs": True}
        yield "edit_file", {"path": path, "old_text": "alpha", "new_text": "alpha"}
    yield "write_file", {"path": "long.txt", "content": "alpha\n" * 30}
    yield "write_file", {"path": "generated/long.txt", "content": "alpha\n" * 30, "create_dirs": True}


def _looks() -> Iterator[tuple[str, dict[str, object]]]:
    for path in (*PATHS, *OUTSIDE):
        yield "read_file", {"path": path}
    for folder in (".", "src", "keys", "drafts", "../", "nowhere"):
        yield "list_directory", {"path": folder}
        yield "grep_search", {"pattern": "alpha", "path": folder}
        yield "glob_search", {"pattern": "**/*", "base_dir": folder}


def _commands() -> Iterator[tuple[str, dict[str, object]]]:
    for command in COMMANDS:
        yield "run_command", {"command": command}
    yield "run_command", {"command": "ls", "working_dir": "src"}
    yield "run_command", {"command": "cat ../a.txt", "working_dir": "src"}


POOLS = (list(_edits()), list(_looks()), list(_commands()))
SHARES = (8, 23, 9)


def calls_for(mode: Mode) -> list[ScriptedCall]:
    """Other calls in another order for each mode, and the same ones in each run of the test."""
    dice = random.Random(f"calls of {mode}")
    chosen = [call for pool, share in zip(POOLS, SHARES, strict=True) for call in dice.sample(pool, share)]
    dice.shuffle(chosen)
    return [ScriptedCall(f"c{n}", tool, json.dumps(given)) for n, (tool, given) in enumerate(chosen)]


def a_project(folder: Path) -> Path:
    for name, content in FILES.items():
        (folder / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "project" / name).write_text(content)
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/outside.txt").write_text("alpha\n")
    (folder / "outside.txt").write_text("alpha\n")
    (folder / "project/link").symlink_to(folder / "elsewhere")
    return folder / "project"


def a_home(folder: Path, server: SseServer) -> Path:
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    configure(
        home,
        '[models]\ndecision = "local/scripted"\n[providers.local]\ntype = "openai-chat"\n'
        f'base_url = "{server.base_url}"\nmax_retries = 0\n{RULES}',
    )
    return home


async def decided(container: Container, calls: Sequence[ScriptedCall]) -> list[str]:
    """What the decision function says of each call, in the words of a report where somebody rejects."""
    return [await _label(container, call.name, json.loads(call.arguments)) for call in calls]


async def _label(container: Container, name: str, arguments: dict[str, object]) -> str:
    tool = container.tools()[name]
    is_command = isinstance(tool, CommandTool)
    subject = Subject(
        tool=name,
        risk=tool.definition.risk,
        access=tool.definition.determine_access(arguments),
        arguments=arguments,
        command=tool.find_command(arguments) if is_command else None,
        shell=await tool.judge(arguments) if is_command else None,
    )
    match container.review().decide(subject).answer:
        case Answer.DENY:
            return DecisionLabel.DENIED
        case answer:
            if isinstance(tool, SealingTool):
                try:
                    await tool.seal(arguments, {})
                except ToolError:
                    return DecisionLabel.NONE  # it cannot succeed, whatever anybody decides
            return DecisionLabel.ALLOWED if answer is Answer.ALLOW else DecisionLabel.REJECTED


def script_for(mode: Mode) -> list[Say]:
    return [Say(calls=calls_for(mode), stop="tool_use"), Say(pieces=["done"])]


async def decided_headless(folder: Path, mode: Mode) -> list[str]:
    project = a_project(folder)
    async with SseServer("openai-chat") as server:
        home = a_home(folder, server)
        server.script = list(script_for(mode))
        ended = await run("go", "--mode", mode, "--output", "json", cwd=project, env=environment(home))
    labels = [call["decision"] for call in ended.report["calls"]]
    withheld = DecisionLabel.NEEDS_APPROVAL
    assert ended.code == (3 if withheld in labels else 0), ended.err
    return [DecisionLabel.REJECTED if label == withheld else label for label in labels]


class RejectsEverything:
    """Says no in the dialog for the first questions, and for the others, to save time, without looking."""

    is_there = True

    def __init__(self, at_the_screen: Approver) -> None:
        self._at_the_screen = at_the_screen
        self._asked = 0

    async def ask(self, question: Question) -> PersonAnswer:
        """Nothing of the project is trusted, and there is no cap."""
        if not isinstance(question, ReviewQuestion):
            return False
        self._asked += 1
        if self._asked > DIALOGS:
            return Reject()
        return await self._at_the_screen.ask(question)


async def decided_in_the_app(folder: Path) -> dict[Mode, list[str]]:
    project = a_project(folder)
    async with SseServer("openai-chat") as server:
        home = a_home(folder, server)
        server.script = [reply for mode in MODES for reply in script_for(mode)]
        found = {}
        async with real_app(project, home, size=(80, 24), person_for=RejectsEverything) as app:
            for turn, mode in enumerate(MODES, start=1):
                await app.send(f"/mode {mode}")
                await app.send("go")
                found[mode] = [record.decision.value for record in (await app.finish("n", turns=turn)).calls]
    return found


def compare_lines(mode: Mode, *decisions: Sequence[str]) -> list[str]:
    return [
        f"{mode}: {call.name} {call.arguments}: {labels}"
        for call, *labels in zip(calls_for(mode), *decisions, strict=True)
        if len(set(labels)) > 1
    ]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long
async def test_two_hundred_calls_are_decided_alike_by_the_function_by_run_and_in_the_app(
    state: None, tmp_path: Path
) -> None:
    headless = asyncio.gather(*(decided_headless(tmp_path / f"run-{mode}", mode) for mode in MODES))
    function: dict[Mode, list[str]] = {}
    for mode in MODES:
        project = a_project(tmp_path / f"function-{mode}")
        async with SseServer("openai-chat") as server:
            home = a_home(tmp_path / f"function-{mode}", server)
            container = real_container(project, home, person=NonInteractiveApprover(), mode=mode)
            function[mode] = await decided(container, calls_for(mode))
    in_app = await decided_in_the_app(tmp_path / "app")
    by_run = dict(zip(MODES, await headless, strict=True))

    assert sum(map(len, function.values())) == 200
    assert [
        line for mode in MODES for line in compare_lines(mode, function[mode], by_run[mode], in_app[mode])
    ] == []
    assert Counter(label for labels in function.values() for label in labels).keys() == {
        *("allowed", "rejected", "denied", "none")
    }
