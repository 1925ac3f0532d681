from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.response import StreamEvent, StreamRetry
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.copilot.provider import CopilotProvider
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.copilot_rig import CopilotRig, copilot_rig
from tests.support.sse_server import Say, ScriptedCall

ROOT = Path(__file__).parents[4]
TOOL: JsonObject = {"name": "bash", "description": "Runs.", "input_schema": {"type": "object"}}
CALL = ScriptedCall("call_a", "bash", "{}")


def _lives(pid: int) -> bool:
    """Whether this process runs; one that ended and was not yet asked about counts as ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and ") Z " in state.read_text())


def _logged_pids(folder: Path) -> list[int]:
    log = folder / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [entry["launched"] for line in lines if "launched" in (entry := json.loads(line))]


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - another process gives no event to wait for
            await asyncio.sleep(0.02)


@pytest.mark.long
async def test_a_cli_that_dies_while_it_is_waited_for_is_an_error_and_the_next_prompt_starts_it_again(
    tmp_path: Path,
) -> None:
    async with copilot_rig(tmp_path) as rig:
        rig.script(Say(reasoning="Hm", ending="stall"), Say(pieces=("back",)))
        received = asyncio.Event()
        sending = asyncio.create_task(rig.session.send_streaming("x", lambda _event: received.set()))
        async with asyncio.timeout(60):
            await received.wait()
            os.kill(rig.log("launched")[0], signal.SIGKILL)
            with pytest.raises(ProviderError, match="ended") as caught:
                await sending
        assert caught.value.kind is ProviderErrorKind.CONNECTION
        assert (await rig.session.send("y")).text_content() == "back"
        assert len(rig.log("launched")) == 2


async def test_a_cli_that_dies_while_our_tools_run_is_started_again_and_gets_everything(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path) as rig:
        rig.script(Say(calls=(CALL,), stop="tool_use"), Say(pieces=("done",)))
        await rig.session.send_with_tools("x", [TOOL], on_event=lambda _event: None)
        os.kill(rig.log("launched")[0], signal.SIGKILL)
        events: list[StreamEvent] = []
        result = ToolResultMessage(tool_use_id="call_a", tool_name="bash", output="the output")
        response = await rig.session.send_tool_results([result], on_event=events.append)
        assert response.text_content() == "done"
        assert [e.kind for e in events if isinstance(e, StreamRetry)] == [ProviderErrorKind.CONNECTION]
        assert '"output":"the output"' in rig.log("asked")[-1]["prompt"]


async def test_closing_ends_the_process_and_removes_its_folder(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path) as rig:
        rig.script(Say(pieces=("ok",)))
        await rig.session.send("x")
        (launched,) = [Path(entry) for entry in rig.log("cwd")]
        assert launched.is_dir()
    assert not _lives(rig.log("launched")[0])
    assert not launched.parent.exists()
    assert len(_deleted(rig)) == 1


def _deleted(rig: CopilotRig) -> list[object]:
    return rig.calls_of("session.delete")


async def test_closing_while_calls_are_open_aborts_them(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path) as rig:
        rig.script(Say(calls=(CALL,), stop="tool_use"))
        await rig.session.send_with_tools("x", [TOOL], on_event=lambda _event: None)
    assert len(rig.calls_of("session.abort")) == 1


async def test_closing_what_never_started_starts_nothing(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path) as rig:
        rig.backend.warm_up()
    assert rig.log("launched") == []


async def test_the_cli_sees_an_empty_folder_and_no_foreign_key(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": "/home/me", "OPENAI_API_KEY": "sk-1"}
    async with copilot_rig(tmp_path, environ=environ) as rig:
        rig.script(Say(pieces=("ok",)))
        await rig.session.send("x")
        (seen,) = rig.log("environ")
        (folder,) = rig.log("cwd")
        assert os.listdir(folder) == []
    assert "OPENAI_API_KEY" not in seen
    assert Path(seen["COPILOT_HOME"]).parent == Path(folder).parent


async def test_an_old_cli_is_refused_with_its_version(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path, config={"protocol": 2, "version": "0.0.420"}) as rig:
        with pytest.raises(ProviderError) as caught:
            await rig.session.send("x")
    assert caught.value.kind is ProviderErrorKind.CONFIGURATION
    assert "Copilot CLI >= 1.0 (protocol 3) needed, found 0.0.420 (protocol 2)" in str(caught.value)


async def test_a_program_that_is_no_copilot_cli_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "copilot"
    program.write_text("#!/bin/sh\necho 'unknown option --headless' >&2\nexit 2\n")
    program.chmod(0o755)
    settings = ProviderSettings(type="copilot", program=str(program))
    backend = CopilotProvider("copilot", settings, {"PATH": os.environ["PATH"]})
    with pytest.raises(ProviderError, match=r"did not start as the Copilot CLI.*unknown option") as caught:
        await backend.list_models()
    assert caught.value.kind is ProviderErrorKind.CONFIGURATION
    await backend.aclose()


async def test_the_models_are_those_github_lists(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path, config={"models": ["gpt-5", "claude"]}, base_url=None) as rig:
        assert await rig.backend.list_models() == ("gpt-5", "claude")


async def test_who_is_not_logged_in_is_shown_how(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path, base_url=None) as rig:
        with pytest.raises(ProviderError, match="`copilot login`") as caught:
            await rig.backend.list_models()
    assert caught.value.kind is ProviderErrorKind.AUTHENTICATION


async def test_the_models_of_an_own_server_are_not_listed(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path) as rig:
        with pytest.raises(ProviderError, match="only the models of GitHub"):
            await rig.backend.list_models()
    assert rig.log("launched") == []


@pytest.mark.long
def test_a_backend_loads_no_sdk_before_it_is_used(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from quorum.infrastructure.models.copilot.provider import CopilotProvider\n"
        "from quorum.infrastructure.models.shared.api_client import ProviderSettings\n"
        "backend = CopilotProvider('c', ProviderSettings(type='copilot', program=sys.executable), {})\n"
        "backend.open_exchange('m')\n"
        "assert 'copilot' not in sys.modules\n"
        "backend.warm_up()\n"
        "assert 'copilot' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
async def test_the_cli_does_not_outlive_us_when_we_are_killed(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.support.copilot_rig import copilot_rig\n"
        "from tests.support.sse_server import Say\n"
        "async def main():\n"
        "    async with copilot_rig(Path(sys.argv[1])) as rig:\n"
        "        rig.script(Say(ending='stall'))\n"
        "        await rig.session.send('x')\n"
        "asyncio.run(main())\n"
    )
    environ = {**os.environ, "TMPDIR": str(tmp_path)}  # nobody is left to remove what lies there
    ours = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), cwd=ROOT, env=environ
    )
    try:
        await _until(lambda: bool(_logged_pids(tmp_path)))
    finally:
        ours.kill()
        await ours.wait()
    (pid,) = _logged_pids(tmp_path)
    await _until(lambda: not _lives(pid))
