"""The process of a member: started for one question, written to and read in lines of JSON, and ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from quorum.domain.errors import ProviderError
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.files.swept_folder import (
    MEMBER_PREFIX,
    open_swept_folder,
    remove_abandoned_folders,
)
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.launch import MemberLaunch
from quorum.infrastructure.models.shared.error_bodies import fit_to_line
from quorum.infrastructure.models.shared.json_fields import parse_foreign_json, replace_surrogates

_JSON = make_encoder()
_LONGEST_LINE = 16_000_000
_MOST_UNREAD = 2 * _LONGEST_LINE
_MOST_NOISE = 4_000  # characters of what is no JSON, and bytes of standard error, kept to be quoted


class MemberProcess:
    """A running program in an empty `folder` of its own, ended with all that it started at the latest when
    quorum is, however that comes to its end. What it writes that is no JSON object is passed over. A line of
    its standard error in which `find_call` finds a tool ends it.
    `session` is the id of the session that it was made ready with, if any, and `program` its name, with its
    version once that is known."""

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        resources: ExitStack,
        launch: MemberLaunch,
        failures: MemberFailures,
        find_call: Callable[[str], str],
    ) -> None:
        """Start it. Raises OSError."""
        self.launch = launch
        self.folder = folder
        self.session = ""
        self.program = launch.about.name
        self._identity = asyncio.create_task(asyncio.to_thread(launch.identity.describe, launch.words[0]))
        self._resources = resources
        self._failures = failures
        self._patience = launch.timeout_secs
        self._unread = bytearray()
        self._searched = 0
        self._noise = ""
        self._errors = b""
        self._error_line = b""
        self._trouble = ""
        self._find_call = find_call
        self._called = ""
        self._news = asyncio.Event()
        theirs, self._input = os.pipe()
        resources.callback(self.close_input)
        try:
            self._process = SupervisedProcess(
                words,
                cwd=folder,
                environment=launch.environ,
                timeout_secs=None,
                on_output=self._take_output,
                on_errors=self._take_errors,
                stdin=theirs,
                grace_secs=0,
            )
        finally:
            os.close(theirs)
        os.set_blocking(self._input, False)
        self._watching = asyncio.create_task(self._watch())
        self.note_progress()

    @classmethod
    async def start(
        cls,
        launch: MemberLaunch,
        failures: MemberFailures,
        list_words: Callable[[Path], Sequence[str]],
        find_call: Callable[[str], str],
    ) -> MemberProcess:
        """Start the program with the words that `list_words` gives for its private folder, in which it may lay
        files. Raises ProviderError."""
        await asyncio.to_thread(remove_abandoned_folders)
        with ExitStack() as resources:
            try:
                folder = resources.enter_context(open_swept_folder(MEMBER_PREFIX))
                work = folder / "work"
                work.mkdir()
                process = cls(list_words(folder), work, resources, launch, failures, find_call)
            except OSError as error:
                raise failures.explain_start_failure(error.strerror or str(error)) from error
            process._resources = resources.pop_all()
            return process

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._watching.done()

    def note_progress(self) -> None:
        """From now on it has its whole time again. Lines alone are no progress: a program may repeat itself."""
        self._deadline = asyncio.get_running_loop().time() + self._patience

    def note_trouble(self, what: str) -> None:
        """It says what keeps it from answering, and tries on."""
        self._trouble = what

    def note_version(self, version: str, name: str = "") -> None:
        """What it says that it is; nothing where it does not say."""
        self.program = fit_to_line(f"{name or self.launch.about.name} {version}")

    async def describe_program(self) -> str:
        """Its name and version, with the digest of what was started."""
        return ", ".join(filter(None, (self.program, await asyncio.shield(self._identity))))

    async def write(self, text: str) -> None:
        """Give it text. Raises ProviderError where it reads no more."""
        rest = memoryview(replace_surrogates(text).encode())
        try:
            async with asyncio.timeout_at(self._deadline):
                while rest:
                    try:
                        rest = rest[os.write(self._input, rest) :]
                    except BlockingIOError:
                        await self._wait_until_writable()
        except TimeoutError as error:
            raise self._failures.explain_silence(self._find_last_words()) from error
        except OSError as error:
            raise await self._explain_end() from error

    async def write_message(self, message: JsonObject) -> None:
        """Give it a line of JSON. Raises ProviderError where it reads no more."""
        await self.write(_JSON.encode(message) + "\n")

    def close_input(self) -> None:
        """Tell it that nothing more will be said."""
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    async def read_message(self) -> JsonObject:
        """The next JSON object that it writes. Raises ProviderError where none comes in time, or any more. A
        cancellation carries a note of what it last said was wrong."""
        try:
            async with asyncio.timeout_at(self._deadline):
                while (line := await self._read_line()) is not None:
                    if (message := self._read_object(line)) is not None:
                        return message
        except TimeoutError as error:
            raise self._failures.explain_silence(self._find_last_words()) from error
        except asyncio.CancelledError as given_up:
            if words := self._find_last_words():
                given_up.add_note(self._failures.quote_last_words(words))
            raise
        raise await self._explain_end()

    async def aclose(self) -> None:
        """Kill it with all that it started, and remove its folder."""
        self._process.end()
        await self._watching
        await asyncio.to_thread(self._resources.close)

    async def _watch(self) -> None:
        """Wait until all of it is dead; a cancellation ends it first."""
        try:
            await self._process.wait()
        finally:
            self._news.set()

    def _take_output(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > _MOST_UNREAD:
            self._process.end()
        self._news.set()

    def _take_errors(self, data: bytes) -> None:
        self._errors = (self._errors + data)[-_MOST_NOISE:]
        *lines, begun = (self._error_line + data).split(b"\n")
        self._error_line = begun[-_MOST_NOISE:]
        for line in lines:
            if not self._called and (called := self._find_call(line.decode("utf-8", "replace"))):
                self._called = called
                self._process.end()
                self._news.set()

    async def _wait_until_writable(self) -> None:
        loop = asyncio.get_running_loop()
        free = asyncio.Event()
        loop.add_writer(self._input, free.set)
        try:
            await free.wait()
        finally:
            loop.remove_writer(self._input)

    async def _read_line(self) -> bytes | None:
        while self._called or (end := self._unread.find(b"\n", self._searched)) < 0:
            if self._called:
                raise self._failures.explain_call(self._called)
            self._searched = len(self._unread)
            if self._searched > _LONGEST_LINE:
                raise self._failures.explain_damage("a line of it is too long to be a message")
            if self.has_ended:
                rest, self._unread, self._searched = bytes(self._unread), bytearray(), 0
                return rest or None
            self._news.clear()
            await self._news.wait()
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

    async def _explain_end(self) -> ProviderError:
        """Why it ended, by the last line that it said for people."""
        await asyncio.wait({self._watching}, timeout=1)  # it may have closed its pipes, and live on
        if self._called:
            return self._failures.explain_call(self._called)
        return self._failures.explain_exit(self._find_last_words())

    def _find_last_words(self) -> str:
        """What it reported last, or the last line that it wrote for people; empty where there is none."""
        lines = (self._errors.decode("utf-8", "replace").strip() or self._noise.strip()).splitlines()
        return self._trouble or (lines[-1] if lines else "")
