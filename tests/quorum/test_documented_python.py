"""Every Python example in the guides runs as it is written, against quorum itself."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quorum.domain.calls.hook_points import Finish
from quorum.domain.conversation.history import AssistantMessage, ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse
from tests.support.headless_run import QUORUM, configure_for, environment
from tests.support.quorum_rig import DONE, calling
from tests.support.quorum_rig import call as scripted_call
from tests.support.real_session import SessionStage, call
from tests.support.sse_server import SseServer

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _list_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def _find_toml(page: str, containing: str) -> str:
    return next(block for block in _list_blocks(ROOT / "docs" / page, "toml") if containing in block)


async def _get_result(stage: SessionStage, tool: str) -> str:
    """What the model gets of a call about `a.txt`, in a session whose own parts are all real."""
    (stage.root / "a.txt").write_text("one two three", encoding="utf-8")
    async with stage.opened() as session:
        await session.turn(call(tool, path="a.txt"))
        (results,) = (
            each
            for each in session.container.parts().core.conversation.messages
            if isinstance(each, ToolResults)
        )
    return results.results[0].output


async def _run_tool(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a distribution that is installed beside quorum."""
    installed = folder / "site-packages"
    described = installed / "my_tools-1.0.dist-info"
    described.mkdir(parents=True)
    (installed / "my_tools.py").write_text(code, encoding="utf-8")
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: my_tools\nVersion: 1.0\n", encoding="utf-8"
    )
    (described / "entry_points.txt").write_text(
        "[quorum.tools]\nwords = my_tools:CountWords\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(installed))

    assert await _get_result(SessionStage(folder), "count_words") == "3"


async def _run_hook(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file beside the settings, named there as the guide says."""
    stage = SessionStage(folder, more_settings=_find_toml("hooks.md", "prefix:Prefix"))
    hooks = stage.home / "config" / "quorum" / "hooks"
    hooks.mkdir()
    (hooks / "prefix.py").write_text(code, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "prefix", raising=False)

    result = await _get_result(stage, "read_file")
    assert result.startswith("» ")
    assert "one two three" in result


async def _run_turn_end(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its class is asked about answers, as a session asks it."""
    module: dict[str, Any] = {}
    exec(code, module)
    ask = module["EndWithTests"]().on_turn_end

    assert isinstance(ask([AssistantMessage(LlmResponse.from_text("all tests pass"))]), Finish)
    assert ask([AssistantMessage(LlmResponse.from_text("done"))]).messages == (
        UserMessage("Say which tests you ran."),
    )


async def _run_program(code: str, folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    ended, _, err = await _run(sys.executable, "-c", code, cwd=ROOT)

    assert (ended, err) == (0, "")


async def _run_client(code: str, folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model that wants to run a command."""
    program, home = folder / "approve.py", folder / "home"
    home.mkdir(mode=0o700)
    program.write_text(code, encoding="utf-8")
    variables = environment(home)
    variables["PATH"] = f"{QUORUM.parent}:{variables['PATH']}"
    async with SseServer("openai-chat") as server:
        server.script = [calling(scripted_call("call-1", "run_command", command="touch it")), DONE]
        configure_for(home, server)
        ended, out, err = await _run(sys.executable, program, home / "q", "make it", cwd=folder, env=variables)

    assert (ended, "touch it" in out) == (0, True), err
    assert (folder / "it").exists()


async def _run_persona(code: str, _folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With stand-ins for JupyterLab's packages, which start what they are told."""

    class BaseAcpPersona:
        def __init__(self, *, executable: list[str]) -> None:
            self.executable = executable

    base = _add_module(monkeypatch, "jupyter_ai_acp_client.base_acp_persona")
    base.BaseAcpPersona = BaseAcpPersona
    _add_module(monkeypatch, "jupyter_ai_persona_manager").PersonaDefaults = dict
    module: dict[str, Any] = {}
    exec(code, module)
    persona = module["QuorumPersona"]()

    assert persona.defaults["name"] == "quorum"
    program, *arguments = persona.executable
    assert (await _run(QUORUM.parent / program, *arguments, "--help", cwd=ROOT))[0] == 0


async def _run(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> tuple[int | None, str, str]:
    """The exit code of a program, and what it prints on its two streams."""
    process = await asyncio.create_subprocess_exec(*words, cwd=cwd, env=env, stdout=PIPE, stderr=PIPE)
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()


def _add_module(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    package, _, _ = name.partition(".")
    for each in {package, name}:
        monkeypatch.setitem(sys.modules, each, ModuleType(each))
    return sys.modules[name]


RUNNERS: dict[str, Callable[[str, Path, pytest.MonkeyPatch], Awaitable[None]]] = {
    "class CountWords": _run_tool,
    "class Prefix": _run_hook,
    "RecordingHook(": _run_program,
    "class EndWithTests": _run_turn_end,
    "# approve.py": _run_client,
    "class QuorumPersona": _run_persona,
}
"""How each example is run, by what stands in it. What only shows a part is no Python block."""
BLOCKS = [
    pytest.param(code, id=f"{page.name}-{n}")
    for page in PAGES
    for n, code in enumerate(_list_blocks(page, "python"))
]


@pytest.mark.long
@pytest.mark.parametrize("code", BLOCKS)
async def test_an_example_runs_as_it_is_written(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = (run for part, run in RUNNERS.items() if part in code)

    await run(code, tmp_path, monkeypatch)


def test_there_is_a_way_to_run_each_example() -> None:
    shown = [code for page in PAGES for code in _list_blocks(page, "python")]

    assert [code for code in shown if sum(part in code for part in RUNNERS) != 1] == []
    assert len(shown) == len(RUNNERS)
