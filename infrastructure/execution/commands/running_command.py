"""A command of the model's while it runs: for the call that waits for it, or as a job in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from quorum.application.calls.outputs import attach_whole_output, store_whole
from quorum.application.cancellation import run_shielded
from quorum.application.ports.storage import Spill
from quorum.domain.calls.job import JobPage, JobResult
from quorum.domain.errors import ToolError
from quorum.domain.replacing import replace
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.text.output import Printed, ToolOutput
from quorum.infrastructure.execution.commands.environment import list_remarks, render_result
from quorum.infrastructure.execution.commands.output import CommandOutput, LiveOutput
from quorum.infrastructure.execution.commands.process import Ending, SupervisedProcess
from quorum.infrastructure.execution.sandbox.confinement import Launch

_RECENT_CHARS = 262_144
_LAST_LINES = 20
_LAST_CHARS = 2000
_MOST_NOTES = 20
_NO_MORE = "whatever else it makes of protected paths is renamed too, and not named here"


class RunningCommand:
    """Implements `BackgroundCommand`. Started when it is made; `report` gets the last lines of its output.

    `was_asked`: a person approved this very command. Raises ToolError where it could not be started.
    """

    def __init__(
        self,
        launch: Launch,
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_secs: int | None,
        max_output_bytes: int,
        spill: Spill | None,
        owner: str,
        report: Callable[[Printed], None],
        was_asked: bool,
    ) -> None:
        self._was_asked = was_asked
        self._launch = launch
        self._notes: list[str] = []
        self._inspecting = asyncio.Lock()
        self._timeout_secs = timeout_secs
        self._spill = spill
        self._output = CommandOutput(max_output_bytes, spill)
        self._recent = self._output.keep_recent(_RECENT_CHARS)
        self._began = time.monotonic()
        self._live = LiveOutput(self._output, report)
        self._end_check = launch.begin(was_asked=was_asked)
        try:
            self._process = SupervisedProcess(
                launch.argv,
                cwd=cwd,
                environment=environment,
                timeout_secs=timeout_secs,
                on_output=self._live.feed,
                keys=launch.keys,
                owner=owner,
                guards=launch.guards,
                proxy=launch.proxy,
            )
        except OSError as error:
            launch.close_home()
            self._end_check()
            raise ToolError(f"the command could not be started: {error}") from error

    # ---------------------------------------------------------------- for the call that waits

    async def wait_for_output(self) -> ToolOutput:
        """What it printed and how it exited, once all of it is dead.

        More than is kept of its output goes whole into the store, where there is one, also if time ran out.
        Raises ToolError as `render_result` does. CancelledError passes once nothing of the command is alive.
        """
        spill, output = self._spill, self._output
        try:
            ending = await self._wait_for_end()
            printed = output.close()
            result = render_result(ending, printed.text, self._timeout_secs, self._notes)
            result = "\n".join([result, *self._launch.list_remarks(ending.exit_code, result)])
            code = ending.exit_code if ending.exit_code is not None and ending.exit_code >= 0 else None
            shown = Printed(result, printed.styles, code)  # what was printed stands in front
        except ToolError as error:
            if spill is None or not output.overflows:
                raise
            raise await asyncio.to_thread(attach_whole_output, spill, error) from error
        except BaseException:
            if spill is not None:
                spill.discard()
            raise
        finally:
            self._live.close()
        if spill is None or not output.overflows:
            return shown
        return await asyncio.to_thread(store_whole, spill, shown)

    async def runs_on(self, wish: asyncio.Future[None]) -> bool:
        """Wait until it has ended, or until the wish is done; whether it runs on and may become a job.

        Cancelled, it ends the command, and lets CancelledError through once nothing of it is alive.
        """
        try:
            return await self._process.wait_unless(wish)
        except asyncio.CancelledError:
            self._live.close()
            if self._spill is not None:
                self._spill.discard()
            await run_shielded(self._look_for_protected(is_last=True))
            raise

    def detach(self, *, lift_timeout: bool) -> Printed:
        """Let it continue as a job; what it has printed until now in finished lines."""
        if lift_timeout:
            self._process.lift_timeout()
            self._timeout_secs = None
        return self._output.so_far

    @property
    def asked_hosts(self) -> tuple[AskedHost, ...]:
        """The hosts that it has asked for through the proxy of the sandbox."""
        return self._launch.asked_hosts

    # ---------------------------------------------------------------- for whoever else looks at it

    @property
    def ending(self) -> Ending | None:
        """How it ended; None while it runs."""
        return self._process.finished.result() if self._process.finished.done() else None

    async def wait_until_ended(self) -> None:
        """Wait until all of it is dead. A cancellation leaves it alone."""
        await asyncio.wait({self._process.finished})

    def read_end(self, most_bytes: int) -> tuple[str, bool]:
        """What it has printed, at most so many bytes (UTF-8) of its end, and whether there was more."""
        recent = self._recent
        text = recent.read_between(recent.start, recent.end) + self._output.unfinished_line
        data = text.encode("utf-8", "replace")
        shown = data[max(0, len(data) - most_bytes) :].decode("utf-8", "ignore")
        return shown, recent.start > 0 or len(data) > most_bytes

    # ---------------------------------------------------------------- as a job

    @property
    def printed(self) -> int:
        """How many characters it has printed in finished lines."""
        return self._recent.end

    @property
    def ran_secs(self) -> float:
        """How long it runs."""
        return time.monotonic() - self._began

    def follow(self, report: Callable[[Printed], None]) -> None:
        """From now on this gets the last lines."""
        self._live.follow(report)

    def read_page(self, offset: int | None, most: int) -> JobPage:
        """At most `most` characters from that place on; None: the last of them."""
        recent = self._recent
        wanted = recent.end - most if offset is None else min(offset, recent.end)
        start = max(recent.start, wanted)
        end = min(start + most, recent.end)
        return JobPage(
            text=recent.read_between(start, end),
            start=start,
            end=end,
            printed=recent.end,
            kept_from=recent.start,
            unfinished=self._output.unfinished_line,
        )

    async def inspect(self) -> tuple[str, ...]:
        """Set aside what it has made of protected paths, if nobody was asked about it; what is new to say.

        A command that the person approved is looked at when it has ended.
        """
        if self._was_asked or self._launch.check is None:
            return ()
        return await run_shielded(self._look_for_protected())

    def end(self) -> None:
        """Ask that it ends. Does not wait."""
        self._process.end()

    async def wait_for_result(self) -> JobResult:
        """How it ended, once all of it is dead. Its whole output is stored where its last lines are not all."""
        ending = await self._wait_for_end()
        self._live.close()
        printed = self._output.close()
        last = "\n".join(printed.text[-_LAST_CHARS:].split("\n")[-_LAST_LINES:])
        is_cut = len(last) < len(printed.text) or self._output.overflows
        said = [] if ending.failure is None else [f"it could not be started: {ending.failure}"]
        said += [
            *list_remarks(ending),
            *self._notes,
            *self._launch.list_remarks(ending.exit_code, printed.text),
        ]
        return JobResult(
            exit_code=ending.exit_code,
            timed_out=ending.timed_out,
            output=await asyncio.to_thread(self._build_whole_output, printed, is_cut),
            last_lines=last,
            is_cut=is_cut,
            remarks=tuple(said),
            hosts=self.asked_hosts,
        )

    def _build_whole_output(self, printed: Printed, is_cut: bool) -> ToolOutput:
        if self._spill is None or not (is_cut and self._output.overflows):
            return printed
        return store_whole(self._spill, printed)

    async def _wait_for_end(self) -> Ending:
        """How it ended; what there is to say of protected paths that it made is then among the notes."""
        try:
            ending = await self._process.wait()
        finally:
            await run_shielded(self._look_for_protected(is_last=True))
        return replace(ending, ended=self._launch.count_background(ending.ended))

    async def _look_for_protected(self, *, is_last: bool = False) -> tuple[str, ...]:
        async with self._inspecting:  # two at once would rename the same path
            said = await asyncio.to_thread(self._launch.finish, was_asked=self._was_asked)
            if is_last:
                said += await asyncio.to_thread(self._launch.close_home)
                await asyncio.to_thread(self._end_check)
            new = tuple(sentence for sentence in said if sentence not in self._notes)
            if len(self._notes) >= _MOST_NOTES:  # it makes them again and again
                new = (_NO_MORE,) if new and _NO_MORE not in self._notes else ()
            self._notes += new
            return new
