"""The process of a member: started for one question, written to and read in lines of JSON, and ended."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from quorum.domain.errors import ProviderError
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.launch import MemberLaunch
from quorum.infrastructure.models.shared.json_fields import parse_foreign_json, replace_surrogates

_JSON = make_encoder()
_CHUNK = 1 << 16
_LONGEST_LINE = 16_000_000
_MOST_NOISE = 4_000  # characters of what is no JSON, kept to be quoted


class MemberProcess:
    """A running program in an empty `folder` of its own. What it writes that is no JSON object is passed over.
    `session` is the id of the session that it was made ready with, if any."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        folder: Path,
        resources: AsyncExitStack,
        launch: MemberLaunch,
        failures: MemberFailures,
    ) -> None:
        self.folder = folder
        self.session = ""
        self._process = process
        self._resources = resources
        self._failures = failures
        self._patience = launch.timeout_secs
        self._unread = bytearray()
        self._searched = 0
        self._noise = ""
        self._errors = ""
        self._reading = asyncio.create_task(self._read_errors())
        self.note_progress()

    @classmethod
    async def start(
        cls, launch: MemberLaunch, failures: MemberFailures, list_words: Callable[[Path], Sequence[str]]
    ) -> MemberProcess:
        """Start the program with the words that `list_words` gives for its private folder, in which it may lay
        files. Raises ProviderError."""
        async with AsyncExitStack() as resources:
            folder = Path(tempfile.mkdtemp(prefix="quorum-member-"))
            resources.push_async_callback(asyncio.to_thread, shutil.rmtree, folder, ignore_errors=True)
            work = folder / "work"
            work.mkdir()
            try:
                process = await resources.enter_async_context(
                    open_program(
                        list_words(folder),
                        environment=launch.environ,
                        cwd=work,
                        stdin=asyncio.subprocess.PIPE,
                        stderr=asyncio.subprocess.PIPE,
                    )
                )
            except OSError as error:
                raise failures.explain_start_failure(error.strerror or str(error)) from error
            return cls(process, work, resources.pop_all(), launch, failures)

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.returncode is not None

    def note_progress(self) -> None:
        """From now on it has its whole time again. Lines alone are no progress: a program may repeat itself."""
        self._deadline = asyncio.get_running_loop().time() + self._patience

    async def write(self, text: str) -> None:
        """Give it text. Raises ProviderError where it reads no more."""
        assert self._process.stdin is not None
        try:
            async with asyncio.timeout_at(self._deadline):
                self._process.stdin.write(replace_surrogates(text).encode())
                await self._process.stdin.drain()
        except TimeoutError as error:
            raise self._failures.explain_silence() from error
        except OSError as error:
            raise await self._explain_end() from error

    async def write_message(self, message: JsonObject) -> None:
        """Give it a line of JSON. Raises ProviderError where it reads no more."""
        await self.write(_JSON.encode(message) + "\n")

    def close_input(self) -> None:
        """Tell it that nothing more will be said."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def read_message(self) -> JsonObject:
        """The next JSON object that it writes. Raises ProviderError where none comes in time, or any more."""
        try:
            async with asyncio.timeout_at(self._deadline):
                while (line := await self._read_line()) is not None:
                    if (message := self._read_object(line)) is not None:
                        return message
        except TimeoutError as error:
            raise self._failures.explain_silence() from error
        raise await self._explain_end()

    async def aclose(self) -> None:
        """Kill it with all that it started, and remove its folder."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._resources.aclose()

    async def _read_line(self) -> bytes | None:
        assert self._process.stdout is not None
        while (end := self._unread.find(b"\n", self._searched)) < 0:
            self._searched = len(self._unread)
            if self._searched > _LONGEST_LINE:
                raise self._failures.explain_damage("a line of it is too long to be a message")
            chunk = await self._process.stdout.read(_CHUNK)
            if not chunk:
                rest, self._unread, self._searched = bytes(self._unread), bytearray(), 0
                return rest or None
            self._unread += chunk
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        self._searched = 0
        return line

    def _read_object(self, line: bytes) -> JsonObject | None:
        try:
            value = parse_foreign_json(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return value
        self._noise = (self._noise + line.decode("utf-8", "replace") + "\n")[-_MOST_NOISE:]
        return None

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._errors = (self._errors + chunk.decode("utf-8", "replace"))[-_MOST_NOISE:]

    async def _explain_end(self) -> ProviderError:
        """Why it ended, by the last line that it said for people."""
        with suppress(TimeoutError):  # what it started may hold the pipe open
            async with asyncio.timeout(1):
                await asyncio.shield(self._reading)
        lines = (self._errors.strip() or self._noise.strip()).splitlines()
        return self._failures.explain_exit(lines[-1] if lines else "")
