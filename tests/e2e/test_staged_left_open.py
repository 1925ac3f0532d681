"""What a staged run leaves in its layer is put to review as a call is: it is answered from any process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.headless_run import Ended, configure_for, environment, run_quorum
from tests.support.layer_process import layers
from tests.support.sse_server import Say, ScriptedCall, SseServer

pytestmark = [pytest.mark.usefixtures("layers"), needs_bubblewrap, pytest.mark.long(after=1)]
__all__ = ["layers"]


def write(path: str, content: str) -> Say:
    call = json.dumps({"path": path, "content": content})
    return Say(calls=[ScriptedCall(f"c-{path}", "write_file", call)], stop="tool_use")


class StagedRig:
    """A folder, and the quorum that works in layers over it."""

    def __init__(self, tmp: Path, server: SseServer) -> None:
        self.folder = (tmp / "project").resolve()
        self.folder.mkdir()
        (self.folder / "app.py").write_text("value = 1\n")
        self.env = environment(tmp)
        self.server = server
        self.session = "latest"
        self.left: dict[str, Any] = {}
        self.listed: list[dict[str, Any]] = []
        configure_for(tmp, server)

    async def quorum(self, *words: str, code: int = 0) -> Ended:
        ended = await run_quorum(*words, cwd=self.folder, env=self.env, is_program=True)
        assert ended.code == code, ended.out + ended.err
        return ended

    async def begin(self, *replies: Say) -> str:
        """Run a turn; the digest of what it leaves to be reviewed."""
        self.server.script = [*replies, Say(pieces=["done"])]
        words = ("--mode", "staged", "--leave-open", "--output", "json", "do it")
        left = await self.quorum("run", *words, code=3)
        self.left = left.report
        return self.read_digest(left)

    @staticmethod
    def read_digest(left: Ended) -> str:
        assert left.report["stop_reason"] == "review_open"
        (digest,) = left.report["waiting"]
        return str(digest)

    async def resume(self, *replies: Say, code: int = 0) -> Ended:
        self.server.script = [*replies, *([Say(pieces=["done again"])] if replies else [])]
        (session,) = {each["session"] for each in self.listed} or {self.session}
        self.session = session
        words = ("--mode", "staged", "--leave-open", "--output", "json", "--resume", session)
        return await self.quorum("run", *words, code=code)

    async def list_waiting(self) -> list[dict[str, Any]]:
        self.listed = json.loads((await self.quorum("inbox", "list", "--json")).out)
        return self.listed


async def test_what_is_approved_elsewhere_is_applied_but_for_what_is_left_out(tmp_path: Path) -> None:
    async with SseServer("openai") as server:
        rig = StagedRig(tmp_path, server)
        digest = await rig.begin(write("made.py", "made = True\n"), write("more.py", "x = 1\n"))

        assert not (rig.folder / "made.py").exists()
        (waiting,) = await rig.list_waiting()
        shown = await rig.quorum("inbox", "show", digest)
        refused = await rig.quorum("inbox", "approve", digest[:16], "--leave-out", "other.py", code=2)
        await rig.quorum("inbox", "approve", digest[:16], "--leave-out", "more.py")
        ended = await rig.resume()

        assert waiting["digest"] == digest
        assert rig.left["text"] == "done"
        assert {each["path"] for each in rig.left["staged"]["files"]} == {"made.py", "more.py"}
        assert "made = True" in shown.out
        assert "2 files +2 −0" in shown.out
        assert "other.py is not among the changes" in refused.err
        assert (ended.report["status"], ended.report["stop_reason"]) == ("completed", "effects_reviewed")
        assert (rig.folder / "made.py").read_text() == "made = True\n"
        assert not (rig.folder / "more.py").exists()
        assert await rig.list_waiting() == []


async def test_words_send_it_back_and_what_comes_of_them_is_asked_about_anew(tmp_path: Path) -> None:
    async with SseServer("openai") as server:
        rig = StagedRig(tmp_path, server)
        digest = await rig.begin(write("made.py", "made = True\n"))
        await rig.list_waiting()
        await rig.quorum("inbox", "reject", digest, "--reason", "call it other.py")
        again = rig.read_digest(await rig.resume(write("other.py", "made = True\n"), code=3))

        assert "call it other.py" in json.dumps(server.bodies[-1])
        assert again != digest
        (waiting,) = await rig.list_waiting()
        assert "other.py" in waiting["packet"]["diff"]
        await rig.quorum("inbox", "reject", again, "--discard")
        await rig.resume()

        assert sorted(path.name for path in rig.folder.iterdir()) == ["app.py"]
        assert (await rig.quorum("staged", "--json")).out.strip() == "[]"


async def test_what_somebody_changed_meanwhile_is_asked_about_again_and_never_overwritten(
    tmp_path: Path,
) -> None:
    async with SseServer("openai") as server:
        rig = StagedRig(tmp_path, server)
        digest = await rig.begin(write("made.py", "made = True\n"))
        await rig.list_waiting()
        await rig.quorum("inbox", "approve", digest)
        (rig.folder / "made.py").write_text("mine\n")
        again = rig.read_digest(await rig.resume(code=3))

        assert (rig.folder / "made.py").read_text() == "mine\n"
        (waiting,) = await rig.list_waiting()
        assert any("made.py" in reason for reason in waiting["dangers"])
        await rig.quorum("inbox", "approve", again, "--overwrite", "made.py")
        await rig.resume()

        assert (rig.folder / "made.py").read_text() == "made = True\n"


async def test_a_command_outside_the_sandbox_is_asked_about_with_what_the_layer_has_programs_start(
    tmp_path: Path,
) -> None:
    async with SseServer("openai") as server:
        rig = StagedRig(tmp_path, server)
        words = json.dumps({"command": "make test", "outside_sandbox": True})
        outside = Say(calls=[ScriptedCall("c-make", "run_command", words)], stop="tool_use")
        digest = await rig.begin(write("Makefile", "test:\n\ttrue\n"), write("notes.md", "x\n"), outside)

        (waiting,) = await rig.list_waiting()
        assert waiting["digest"] == digest
        started = [reason for reason in waiting["dangers"] if "written in the layer" in reason]
        assert started == ["it may start what was written in the layer: Makefile adds a program that make runs"]
        await rig.quorum("inbox", "reject", digest, "--reason", "no")
        again = rig.read_digest(await rig.resume(write("more.md", "x\n"), code=3))
        shown = await rig.quorum("inbox", "show", again)

    assert "guard: adds a program that make runs" in shown.out
