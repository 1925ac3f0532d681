"""An agent on the SDK of the Agent Client Protocol: a prompt is the list of what it is to do, as JSON.

Started as a program; its arguments change how it begins.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydantic

pydantic.BaseModel.model_config["defer_build"] = True  # of the SDK's hundreds of models a prompt needs few

import acp  # noqa: E402
from acp import helpers  # noqa: E402
from acp.exceptions import RequestError  # noqa: E402
from acp.schema import (  # noqa: E402
    AgentCapabilities,
    AllowedOutcome,
    AuthMethodAgent,
    EnvVariable,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    SetSessionConfigOptionResponse,
    ToolCallUpdate,
)

_FOLDER = Path.cwd()
_OPTIONS = [
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
    PermissionOption(option_id="once", name="Once", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]
_MODES = SessionModeState(
    current_mode_id="build",
    available_modes=[SessionMode(id="build", name="Build"), SessionMode(id="plan", name="Plan")],
)
_MODELS = SessionConfigOptionSelect(
    type="select",
    id="model",
    name="Model",
    category="model",
    current_value="small",
    options=[SessionConfigSelectOption(value=each, name=each) for each in ("small", "large")],
)


class Program:
    """Implements the SDK's `Agent` as far as quorum asks for it."""

    def __init__(self, flags: set[str]) -> None:
        self._flags = flags
        self._calls = 0
        self._session = self._notes = ""
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, **_given: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=1,
            agent_capabilities=AgentCapabilities(load_session="--no-load" not in self._flags),
            agent_info=Implementation(name="program", title="Test Agent", version="7.1"),
            auth_methods=[AuthMethodAgent(id="door", name="Log in at the door")],
        )

    async def new_session(self, **_given: Any) -> NewSessionResponse:
        if "--needs-login" in self._flags and not await asyncio.to_thread(Path("signed-in").exists):
            raise RequestError.auth_required()
        self._session = "theirs-1"
        return NewSessionResponse(session_id=self._session, modes=_MODES, config_options=[_MODELS])

    async def load_session(self, session_id: str, **_given: Any) -> LoadSessionResponse:
        if session_id != "theirs-1":
            raise RequestError(-32002, "no such session")
        self._session = session_id
        await self._say("what was said before")
        if "--offers-less" in self._flags:
            return LoadSessionResponse(
                modes=SessionModeState(current_mode_id="build", available_modes=_MODES.available_modes[:1])
            )
        return LoadSessionResponse(modes=_MODES, config_options=[_MODELS])

    async def set_session_mode(self, mode_id: str, **_given: Any) -> None:
        await asyncio.to_thread(Path("mode.txt").write_text, mode_id)

    async def set_config_option(
        self, config_id: str, value: str, **_given: Any
    ) -> SetSessionConfigOptionResponse:
        await asyncio.to_thread(Path(f"{config_id}.txt").write_text, value)
        return SetSessionConfigOptionResponse(config_options=[_MODELS])

    async def prompt(self, prompt: list[Any], **_given: Any) -> PromptResponse:
        self._cancelled.clear()
        stop = "end_turn"
        self._notes, _, steps = prompt[0].text.rpartition("\n\n")
        for name, *words in json.loads(steps):
            stop = await getattr(self, f"_{name}")(*words) or stop
        return PromptResponse(stop_reason="cancelled" if self._cancelled.is_set() else stop)  # type: ignore[arg-type]

    async def cancel(self, **_given: Any) -> None:
        self._cancelled.set()

    # ---------------------------------------------------------------- what it can be told to do

    async def _say(self, text: str) -> None:
        await self._tell(helpers.update_agent_message_text(text))

    async def _tell_notes(self) -> None:
        """What stands before the list."""
        await self._say(self._notes)

    async def _think(self, text: str) -> None:
        await self._tell(helpers.update_agent_thought_text(text))

    async def _plan(self, *entries: list[str]) -> None:
        rows = [helpers.plan_entry(content, status=status) for content, status in entries]  # type: ignore[arg-type]
        await self._tell(helpers.update_plan(rows))

    async def _switch(self, mode: str) -> None:
        await self._tell(helpers.update_current_mode(mode))

    async def _at_once(self, *steps: list[Any]) -> None:
        """Do these beside each other."""
        await asyncio.gather(*(getattr(self, f"_{name}")(*words) for name, *words in steps))

    async def _run(self, command: str) -> None:
        """Ask, run, and tell how it ended."""
        if await self._ask(call := self._name(), command, "execute", {"command": command}):
            ran = await asyncio.to_thread(subprocess.run, command, shell=True, capture_output=True, text=True)
            status = "failed" if ran.returncode else "completed"
            await self._end(call, status, ran.stdout + ran.stderr)
        else:
            await self._say(f"[refused: {command}]")

    async def _ask_before_running(self, *commands: str) -> None:
        """Ask about all of them, and run none before all are answered."""
        calls = {self._name(): command for command in commands}
        asked = [self._ask(call, each, "execute", {"command": each}) for call, each in calls.items()]
        for call, may in zip(calls, await asyncio.gather(*asked), strict=True):
            if may:
                await asyncio.to_thread(subprocess.run, calls[call], shell=True, check=False)
                await self._end(call, "completed", "")

    async def _edit(self, path: str, before: str | None, after: str, really: str | None = None) -> None:
        """Ask about an edit, and write that, or `really` something else."""
        file = _FOLDER / path
        diff = [helpers.tool_diff_content(str(file), after, before)]
        if await self._ask(call := self._name(), f"Edit {path}", "edit", {}, diff):
            held = file.read_text() if before is not None else ""
            new = after if really is None else really
            file.write_text(held.replace(before, new) if before is not None else new)
            await self._end(call, "completed", "edited")

    async def _edit_through_client(self, path: str, before: str, after: str, really: str | None = None) -> None:
        """Ask about an edit, then read and write the file through the client, as it was shown or otherwise."""
        file = _FOLDER / path
        diff = [helpers.tool_diff_content(str(file), after, before)]
        if await self._ask(call := self._name(), f"Edit {path}", "edit", {}, diff):
            got = await self._client.read_text_file(session_id=self._session, path=str(file))
            await self._write(path, got.content.replace(before, after if really is None else really))
            await self._end(call, "completed", "edited")

    async def _edit_unasked(self, path: str, content: str) -> None:
        call = self._name()
        await self._tell(helpers.start_edit_tool_call(call, f"Edit {path}", path, content))
        await asyncio.to_thread(Path(path).write_text, content)
        await self._end(call, "completed", "edited")

    async def _write(self, path: str, content: str) -> None:
        try:
            await self._client.write_text_file(
                session_id=self._session, path=str(_FOLDER / path), content=content
            )
        except RequestError as error:
            await self._say(f"[{error.data or error}]")

    async def _touch(self, path: str) -> None:
        """Make a file by itself, and tell whether that went."""
        try:
            await asyncio.to_thread(Path(path).touch)
            await self._say("made ")
        except OSError as error:
            await self._say(f"{error.strerror} ")

    async def _move(self, path: str, target: str) -> None:
        """Put a file in the place of another by itself, and tell whether that went."""
        try:
            await asyncio.to_thread(os.replace, path, target)
            await self._say("moved ")
        except OSError as error:
            await self._say(f"{error.strerror} ")

    async def _read(self, path: str) -> None:
        try:
            got = await self._client.read_text_file(session_id=self._session, path=str(_FOLDER / path))
            await self._say(got.content)
        except RequestError as error:
            await self._say(f"[{error}]")

    async def _in_terminal(self, command: str, then: str = "wait", **more: Any) -> None:
        """Run a command in a terminal of the client, `then` wait for its end, kill or leave it."""
        try:
            made = await self._client.create_terminal(session_id=self._session, command=command, **more)
        except RequestError as error:
            await self._say(f"[{error}]")
            return
        of = {"session_id": self._session, "terminal_id": made.terminal_id}
        if then == "leave":
            return
        if then == "kill":
            await self._client.kill_terminal(**of)
        exited = await self._client.wait_for_terminal_exit(**of)
        shown = await self._client.terminal_output(**of)
        await self._client.release_terminal(**of)
        cut = "…" if shown.truncated else ""
        await self._say(f"{cut}{shown.output.strip()} {exited.signal or exited.exit_code}\n")

    async def _in_small_terminal(self, command: str) -> None:
        await self._in_terminal(command, output_byte_limit=4)

    async def _in_terminal_elsewhere(self, command: str, cwd: str) -> None:
        await self._in_terminal(command, cwd=cwd)

    async def _in_terminal_with(self, name: str, value: str, command: str) -> None:
        await self._in_terminal(command, env=[EnvVariable(name=name, value=value)])

    async def _ask_for_terminal(self, command: str, really: str = "") -> None:
        """Ask about a command, and run it, or `really` another, in a terminal of the client."""
        if await self._ask(call := self._name(), command, "execute", {"command": command}):
            await self._in_terminal("bash", args=["-c", really or command])
            await self._end(call, "completed", "")

    async def _run_beside_allowed_terminal(self, command: str, beside: str) -> None:
        """Ask about a command, and while its terminal is made about another."""
        if await self._ask(self._name(), command, "execute", {"command": command}):
            await self._at_once(["in_terminal", command, "leave"], ["run", beside])

    async def _ask_for_set_up_terminal(self, command: str, **variables: str) -> None:
        """The same, with the folder in the text, too, and with variables."""
        env = [EnvVariable(name=name, value=value) for name, value in variables.items()]
        if await self._ask(call := self._name(), command, "execute", {"command": command}):
            text, folder = f"cd '{_FOLDER}' && {command}", str(_FOLDER)
            await self._in_terminal("/bin/bash", args=["-c", text], cwd=folder, env=env)
            await self._end(call, "completed", "")

    async def _ask_for_terminal_that_looks_plain(self, command: str) -> None:
        await self._ask_for_set_up_terminal(command, NO_COLOR="1", TERM="dumb", SHELL="/bin/bash")

    async def _ask_for_terminal_with_a_pager(self, command: str) -> None:
        await self._ask_for_set_up_terminal(command, PAGER="true")

    async def _ask_for_shell(self, command: str, shell: str, option: str = "-c") -> None:
        """The same in this shell."""
        if await self._ask(self._name(), command, "execute", {"command": command}):
            await self._in_terminal(shell, args=[option, command])

    async def _tell_pid(self) -> None:
        await self._say(str(os.getpid()))

    async def _run_and_hang(self, command: str) -> None:
        """Ask and run, and never tell how it ended."""
        await self._ask(self._name(), command, "execute", {"command": command})
        await asyncio.create_subprocess_shell(command)
        await self._hang()

    async def _run_until_cancelled(self, command: str) -> None:
        """Ask, and tell that the command is done once the turn is cancelled."""
        await self._ask(call := self._name(), command, "execute", {"command": command})
        await self._hang()
        await self._end(call, "completed", "")

    async def _leave_a_child(self) -> None:
        """Start a process that outlives the agent and is in none of its groups, and tell its id."""
        child = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
        await self._say(str(child.pid))

    async def _hang(self) -> None:
        await self._say("working")
        await self._cancelled.wait()

    async def _ignore_cancel(self) -> None:
        await self._say("working")
        await asyncio.Event().wait()

    async def _stop(self, reason: str) -> str:
        return reason

    async def _die(self) -> None:
        print("the disk of the agent is full", file=sys.stderr, flush=True)
        os._exit(3)

    # ---------------------------------------------------------------- how

    def _name(self) -> str:
        self._calls += 1
        return f"call-{self._calls}"

    async def _tell(self, update: Any) -> None:
        await self._client.session_update(session_id=self._session, update=update)

    async def _ask(
        self, call: str, title: str, kind: Any, arguments: dict[str, Any], content: list[Any] | None = None
    ) -> bool:
        asked = ToolCallUpdate(
            tool_call_id=call, title=title, kind=kind, status="pending", raw_input=arguments, content=content
        )
        answer = await self._client.request_permission(
            session_id=self._session, tool_call=asked, options=_OPTIONS
        )
        chosen = answer.outcome
        assert not isinstance(chosen, AllowedOutcome) or chosen.option_id != "always"
        return isinstance(chosen, AllowedOutcome) and chosen.option_id == "once"

    async def _end(self, call: str, status: Any, output: str) -> None:
        content = [helpers.tool_content(helpers.text_block(output))] if output else []
        await self._tell(helpers.update_tool_call(call, status=status, content=content))


async def main(flags: set[str]) -> None:
    """Serve on stdin and stdout."""
    if "--noise" in flags:
        print("Welcome to the agent!\n[1, 2]", flush=True)
    if "--dies" in flags:
        print("no license found", file=sys.stderr)
        raise SystemExit(4)
    if "--silent" in flags:
        await asyncio.Event().wait()
    await acp.run_agent(Program(flags))  # type: ignore[arg-type]
    if "--stays" in flags:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(set(sys.argv[1:])))
