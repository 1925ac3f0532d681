"""Runs the commands that the person types themselves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePath

from quorum.application.calls.outputs import Outputs, store_whole
from quorum.application.cancellation import absorb_cancellation
from quorum.application.event_bus import EventBus
from quorum.application.ports.storage import Spill
from quorum.application.steering import PendingMessages
from quorum.application.turn.user_commands import UserCommandRunner
from quorum.domain.calls.command_end import CommandRun
from quorum.domain.text.output import Printed, StyleChange, ToolOutput
from quorum.infrastructure.config.tools_table import RunCommandTable
from quorum.infrastructure.execution.commands.environment import list_remarks
from quorum.infrastructure.execution.commands.output import CommandOutput, LiveOutput
from quorum.infrastructure.execution.commands.process import Ending, SupervisedProcess

_USUAL_SHELL = "/bin/sh"
_MAX_COMMAND_BYTES = (1 << 17) - 1
_NEEDS_TERMINAL = "{program} needs a terminal, and commands have none here: ctrl+z takes you to your own shell"
# They draw on a terminal or read keys from it; without one they end at once, or wait for ever.
_FOR_TERMINALS = frozenset(
    {
        *("vi", "vim", "nvim", "nano", "pico", "emacs", "micro", "helix", "hx", "kak"),
        *("top", "htop", "btop", "atop", "watch", "less", "more", "most", "fzf", "dialog", "whiptail"),
        *("tig", "lazygit", "gitui", "mc", "ranger", "nnn", "tmux", "screen", "zellij"),
        *("ssh", "telnet", "passwd", "su", "visudo"),
    }
)


def build_user_commands(
    table: RunCommandTable,
    root: Path,
    environ: Mapping[str, str],
    *,
    events: EventBus,
    outputs: Outputs,
    pending_messages: PendingMessages,
    hold: Callable[[], AbstractContextManager[None]] | None,
) -> UserCommandRunner:
    """What runs the commands of the person in this folder. `hold` keeps a layer over it mounted meanwhile."""
    return UserCommandRunner(
        shell=UserShell(
            root=root, environ=environ, max_output_bytes=table.max_output_bytes, open_spill=outputs.open_spill
        ),
        events=events,
        outputs=outputs,
        pending_messages=pending_messages,
        limits=table.limits,
        hold=hold,
    )


class UserShell:
    """Implements `UserShellPort`: $SHELL, else /bin/sh, in the workspace, with the environment of quorum.

    Nothing confines a command; it can do what the person could do in their own terminal. It has no terminal:
    nothing can be typed, and programs see that.
    """

    def __init__(
        self,
        *,
        root: Path,
        environ: Mapping[str, str],
        max_output_bytes: int,
        open_spill: Callable[[], Spill] | None = None,
    ) -> None:
        self._root = root
        self._environ = environ
        self._max_output_bytes = max_output_bytes
        self._open_spill = open_spill

    async def run(self, command: str, *, owner: str, report: Callable[[Printed], None]) -> CommandRun:
        """Run it to its end, however long that takes; cancelled, it ends it and answers all the same."""
        if (problem := _find_problem(command)) is not None:
            return CommandRun(failure=problem)
        spill = self._open_spill() if self._open_spill is not None else None
        output = CommandOutput(self._max_output_bytes, spill)
        warning = _list_warnings(command)
        live = LiveOutput(output, lambda printed: report(_add_warning(printed, warning)))
        if warning:
            report(Printed("\n".join(warning)))
        try:
            process = SupervisedProcess(
                (_choose_shell(self._environ), "-c", command),
                cwd=self._root,
                environment=self._environ,
                timeout_secs=None,
                on_output=live.feed,
                owner=owner,
            )
        except OSError as error:
            return CommandRun(failure=error.strerror or str(error))
        cancelled = False
        try:
            ending = await process.wait()
        except asyncio.CancelledError:
            absorb_cancellation()
            cancelled = True
            ending = await process.wait()
        live.close()
        return CommandRun(
            output=await _build_whole_output(output, spill),
            exit_code=ending.exit_code,
            cancelled=cancelled,
            failure=ending.failure,
            remarks=_list_remarks(ending, warning, cancelled=cancelled),
        )


async def _build_whole_output(output: CommandOutput, spill: Spill | None) -> ToolOutput:
    printed = output.close()
    if spill is None or not output.overflows:
        return printed
    return await asyncio.to_thread(store_whole, spill, printed)


def _add_warning(printed: Printed, warning: Sequence[str]) -> Printed:
    if not warning:
        return printed
    plain_again = StyleChange(len(printed.text), "")
    return Printed("\n".join([printed.text, *warning]), (*printed.styles, plain_again))


def _list_remarks(ending: Ending, warning: Sequence[str], *, cancelled: bool) -> tuple[str, ...]:
    said = [] if cancelled and not ending.left else list_remarks(ending)
    return (*said, *(warning if cancelled or ending.exit_code else ()))


def _list_warnings(command: str) -> Sequence[str]:
    """That a program needs what there is not, where it is known to."""
    program = PurePath(next(iter(command.split()), "")).name
    return [_NEEDS_TERMINAL.format(program=program)] if program in _FOR_TERMINALS else []


def _find_problem(command: str) -> str | None:
    """Why no shell could be given this."""
    if "\0" in command:
        return "it contains a NUL character"
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return f"it has {size} bytes, and a shell takes {_MAX_COMMAND_BYTES}" if size > _MAX_COMMAND_BYTES else None


def _choose_shell(environ: Mapping[str, str]) -> str:
    """The person's shell, as their environment names it, if it is there."""
    shell = environ.get("SHELL", "")
    return shell if os.path.isabs(shell) and os.access(shell, os.X_OK) else _USUAL_SHELL
