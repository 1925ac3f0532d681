"""The keys of a working day: `.venv/bin/python -m benchmarks.day [COLSxLINES…]`.

Fifteen prompts with twelve calls that need an answer, two interrupts, an outage, an undo, a closed terminal and
`--continue`, in tmux, against a scripted model on the loopback interface. Each size is worked through twice:
once answering each question alone, and once accepting what the questions offer (the sandbox, all edits inside
the workspace). Prints the keys besides typed prompts, the questions, and the answers that were given again.

A last day in the mode `auto` has all commands sampled, judges one of four to be wrong, is asked about the next
one, is killed, and must still ask after `--continue`.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.headless_run import QUORUM, configure, environment
from tests.support.quorum_rig import call, calling, settings
from tests.support.sse_server import Refuse, Reply, Say, SseServer

SIZES = ("80x24", "120x40", "200x50")
REACTION_SECS, PATIENCE_SECS, POLL_SECS = 1.0, 60.0, 0.2
ASKED, OFFERED = "answer needed", "Let edits and sandboxed commands run unasked?"
_TITLE = re.compile(r"(?:Edit|Write|Create|Run|Open|Undo) .*")


def _edit(name: str, old: int, new: int) -> Reply:
    return calling(call(f"e{new}", "edit_file", path=name, old_text=f"= {old}\n", new_text=f"= {new}\n"))


def _run(number: int, command: str, **more: object) -> Reply:
    return calling(call(f"r{number}", "run_command", command=command, **more))


def _end(number: int) -> Say:
    return Say(pieces=[f"END-{number}."])


DAY: tuple[tuple[Reply, ...], ...] = (
    (calling(call("a1", "read_file", path="a.py"), call("a2", "read_file", path="b.py")), _end(1)),
    (_edit("a.py", 1, 2), _end(2)),
    (_edit("b.py", 1, 2), _end(3)),
    (_run(4, "python3 -m compileall -q ."), _end(4)),
    (_edit("a.py", 2, 3), _run(5, "python3 a.py"), _end(5)),
    (Say(pieces=["it streams and streams"], ending="stall"),),
    (calling(call("w7", "write_file", path="c.py", content="c = 1\n")), _end(7)),
    (_run(8, "python3 c.py"), _end(8)),
    (Refuse(status=503), _end(9)),
    (_edit("a.py", 3, 4), _edit("b.py", 2, 3), _end(10)),
    (_run(11, "echo be''gun; sleep 60"),),
    (_edit("c.py", 1, 2), _end(12)),
    (_run(13, "git add -A && git commit -qm day", opens_git=True), _end(13)),
    (calling(call("a3", "read_file", path="c.py")), _end(14)),
    (_end(15),),
)
STREAMING, OUTAGE, RUNNING, UNDONE, CLOSED = 6, 9, 11, 12, 13
"""The prompts that something happens to: the numbers count from 1."""


@dataclass
class Tmux:
    """The app in a terminal of tmux, on a server of its own."""

    folder: Path
    size: str
    env: dict[str, str]
    keys: int = 0
    questions: list[str] = field(default_factory=list)
    lost: int = 0
    last: str = ""
    opened: int = 0

    def run(self, *words: str) -> str:
        """One command of tmux."""
        done = subprocess.run(
            ["tmux", "-L", f"day-{os.getpid()}-{self.opened}", *words],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def open(self, *arguments: str) -> None:
        """Open the app."""
        self.opened += 1  # a server that was told to end may still be there
        columns, lines = self.size.split("x")
        self.run(
            *("-f", "/dev/null", "new-session", "-d", "-s", "day", "-x", columns, "-y", lines),
            *("-c", str(self.folder), str(QUORUM), *arguments),
        )

    def close(self) -> None:
        """Close the terminal."""
        self.run("kill-server")

    @property
    def screen(self) -> str:
        """What is on it now."""
        return self.run("capture-pane", "-p", "-t", "day")

    def press(self, *keys: str) -> None:
        """Press keys that count."""
        self.keys += len(keys)
        self.run("send-keys", "-t", "day", *keys)

    def submit(self, text: str) -> None:
        """Type a prompt and send it; neither counts."""
        self.run("send-keys", "-t", "day", "-l", text)
        self.run("send-keys", "-t", "day", "Enter")

    async def until(self, *wanted: str) -> str:
        """The first of these texts that is on the screen."""
        async with asyncio.timeout(PATIENCE_SECS):
            while True:
                screen = self.screen
                for text in wanted:
                    if text in screen:
                        return text
                self.last = screen
                await asyncio.sleep(POLL_SECS)

    async def answer(self, *, accepts_offers: bool) -> None:
        """Answer the question on the screen, with one key where it takes one."""
        await asyncio.sleep(REACTION_SECS)
        screen = self.screen
        title = self._title(screen)
        self.questions.append(title)
        if OFFERED in screen:
            key = "y" if accepts_offers else "n"
        else:
            key = "BTab" if accepts_offers and "⇧⇥" in screen else "y"
        self.press(key)
        for _ in range(int(8 / POLL_SECS)):
            await asyncio.sleep(POLL_SECS)
            if (now := self.screen) and (ASKED not in now or self._title(now) != title):
                return
        self.lost += 1
        self.press(key)

    async def work(self, end: str, *, accepts_offers: bool) -> None:
        """Answer what is asked until this text is on the screen."""
        while await self.until(OFFERED, ASKED, end) != end:
            await self.answer(accepts_offers=accepts_offers)

    def _title(self, screen: str) -> str:
        found = _TITLE.findall(screen)
        return found[-1].strip(" ─╮│") if found else screen


async def work_through(tmux: Tmux, *, accepts_offers: bool) -> None:
    """The whole day."""
    tmux.open()
    try:
        await tmux.work("shows all keys", accepts_offers=accepts_offers)
        for number in range(1, len(DAY) + 1):
            tmux.submit(f"do part {number} of the work")
            await _follow(tmux, number, accepts_offers=accepts_offers)
            if number == UNDONE:
                tmux.press(*"/undo", "Enter")
                await tmux.until("goes back")
                await asyncio.sleep(REACTION_SECS)
                tmux.press("b")
                await tmux.until("took back 1 turn")
                tmux.press("C-u")  # the prompt that was taken back
            if number == CLOSED:
                tmux.close()
                tmux.open("--continue")
                await tmux.work(f"END-{number}.", accepts_offers=accepts_offers)
    finally:
        tmux.close()


async def _follow(tmux: Tmux, number: int, *, accepts_offers: bool) -> None:
    if number == STREAMING:
        await tmux.until("it streams and streams")
        tmux.press("Escape")
        await tmux.until("interrupted")
        return
    if number == OUTAGE:
        await tmux.until("Enter sends it again", "enter sends it again", "/retry")
        tmux.press("Enter")
    if number == RUNNING:
        await tmux.work("begun", accepts_offers=accepts_offers)
        await asyncio.sleep(REACTION_SECS)
        tmux.press("Escape")
        await asyncio.sleep(REACTION_SECS)  # a letter right behind it would make it Alt and that letter
        await tmux.until("cancelled", "interrupted")
        return
    await tmux.work(f"END-{number}.", accepts_offers=accepts_offers)


def _make_project(project: Path) -> None:
    project.mkdir()
    for name in ("a.py", "b.py"):
        (project / name).write_text(f"{name[0]} = 1\n", encoding="utf-8")
    git = "git init -q && git config user.name a && git config user.email a@example.org && git add -A"
    subprocess.run(f"{git} && git commit -qm first", shell=True, cwd=project, check=True)


JUDGED: tuple[tuple[Reply, ...], ...] = tuple(
    (_run(number, f"python3 -c 'print({number})'"), _end(number)) for number in range(1, 6)
)
_HELD = "commands are asked about"


async def work_judged(tmux: Tmux) -> None:
    """The day in `auto`: four commands run, one of them is judged wrong, and the fifth is asked about."""
    tmux.open()
    try:
        await tmux.until("shows all keys")
        for number in range(1, len(JUDGED)):
            tmux.submit(f"do part {number} of the work")
            await tmux.until(f"END-{number}.")
        tmux.submit("/permissions")
        await tmux.until("judges calls")
        tmux.press("v")
        for left, verdict in ((4, "r"), (3, "r"), (2, "r"), (1, "w")):
            await tmux.until(f"{left} left")
            await asyncio.sleep(REACTION_SECS)
            tmux.press(verdict)
        await tmux.until(_HELD)
        await tmux.until("wrong (95 %, n = 4)")
        for below in ("judges calls", f"END-{len(JUDGED) - 1}."):
            tmux.press("Escape")
            await tmux.until(below)
            await asyncio.sleep(REACTION_SECS)
        tmux.submit(f"do part {len(JUDGED)} of the work")
        await tmux.until("the mode auto was wrong about 1 of 4")
        os.kill(int(tmux.run("list-panes", "-t", "day", "-F", "#{pane_pid}")), signal.SIGKILL)
        await asyncio.sleep(REACTION_SECS)
        tmux.close()
        tmux.open("--continue")
        await tmux.until(_HELD)
        await tmux.until("the mode auto was wrong about 1 of 4")
    finally:
        tmux.close()


def _last_commit(project: Path) -> str:
    log = ("git", "-C", str(project), "log", "-1", "--format=%s")
    return subprocess.run(log, check=True, capture_output=True, text=True).stdout.strip()


async def day(size: str, *, accepts_offers: bool) -> None:
    """One day in a folder of its own; prints what it took."""
    with tempfile.TemporaryDirectory() as base:
        home, project = Path(base) / "home", Path(base) / "project"
        _make_project(project)
        async with SseServer("openai-chat") as server:
            server.script = [reply for part in DAY for reply in part]
            configure(home, settings(server, []).replace("review = []\n", ""))
            env = environment(home, TERM="xterm-256color", QUORUM_REVIEW__OFFER_SANDBOXED="true")
            tmux = Tmux(project, size, env)
            try:
                await work_through(tmux, accepts_offers=accepts_offers)
            except TimeoutError:
                print(f"stopped after {len(server.bodies)} requests, {tmux.questions}:\n{tmux.last}")
                raise
        if _last_commit(project) != "day":
            print("the work was not committed")
    style = "accepting offers" if accepts_offers else "each alone"
    print(
        f"{size}, {style}: {tmux.keys} keys, {len(tmux.questions)} questions, {tmux.lost} answers lost",
        flush=True,
    )


async def judged_day(size: str) -> None:
    """One day in the mode `auto`; prints what it took."""
    with tempfile.TemporaryDirectory() as base:
        home, project = Path(base) / "home", Path(base) / "project"
        _make_project(project)
        async with SseServer("openai-chat") as server:
            server.script = [*(reply for part in JUDGED for reply in part), _end(len(JUDGED))]
            sampled = '\n[review]\nmode = "auto"\nsample_percent = 100.0\n'
            configure(home, settings(server, [], sampled).replace("review = []\n", ""))
            tmux = Tmux(project, size, environment(home, TERM="xterm-256color"))
            await work_judged(tmux)
    print(f"{size}, judged in auto: {tmux.keys} keys", flush=True)


async def main() -> None:
    for size in sys.argv[1:] or SIZES:
        await judged_day(size)
        for accepts_offers in (False, True):
            await day(size, accepts_offers=accepts_offers)


if __name__ == "__main__":
    asyncio.run(main())
