"""JSON-RPC with an agent over its stdin and stdout, a message a line: both sides ask, tell and answer.

An agent in the sandbox obeys places that it may not make: what is there cannot be changed from inside, as it is
mounted read-only. Nothing can be mounted over a name that does not exist, nor over a link: what the agent makes
there is given a name that it does not obey.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from quorum.application.program_lookup import (
    explain_local_package,
    find_local_package,
    pin_runner,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind, ToolError
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.agents.launch import AgentLaunch
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.models.shared.error_bodies import fit_to_line
from quorum.infrastructure.models.shared.json_fields import (
    parse_foreign_json,
    read_object_field,
    read_text_field,
    replace_surrogates,
)

_log = logging.getLogger(__name__)
_JSON = make_encoder()
_LONGEST_LINE = 64_000_000
_MOST_NOISE = 4_000  # characters of what is no message, kept to be quoted
_METHOD_NOT_FOUND, INTERNAL_ERROR = -32601, -32603
_AUTH_REQUIRED = -32000
_CLOSING_SECS = 1.0  # the app waits three seconds for all of a session
Confine: TypeAlias = Callable[[Sequence[str], Path, Mapping[str, str]], Launch]
"""How a program is run in the sandbox. Blocks; raises ToolError where there is none."""


class UnknownMethod(Exception):
    """What the program asks for is not offered."""


class RefusedRequest(Exception):
    """What the program asks for cannot be had; the text says why."""

    def __init__(self, message: str, code: int = INTERNAL_ERROR) -> None:
        super().__init__(message)
        self.code = code


class ChannelPeer(Protocol):
    """Who answers the program."""

    def take_notification(self, method: str, params: JsonObject) -> None:
        """It tells something, in order with its answers."""
        ...

    async def answer_request(self, method: str, params: JsonObject) -> JsonValue:
        """It asks for something. Raises UnknownMethod and RefusedRequest."""
        ...


class AgentChannel:
    """A running agent. What it writes that is no JSON object is passed over, and quoted if it ends.

    Whatever becomes of quorum, the program and all that it started are ended.
    """

    def __init__(
        self,
        launch: AgentLaunch,
        cwd: str,
        peer: ChannelPeer,
        confine: Confine | None,
        places: ObeyedPlaces,
    ) -> None:
        """`places` are looked through once nothing of the program is alive."""
        self._places = places
        self._launch, self._cwd, self._peer, self._confine = launch, cwd, peer, confine
        self._end_check: Callable[[], None] = lambda: None
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._next_id = 1
        self._unread, self._searched = bytearray(), 0
        self._noise = self._errors = ""
        self._end: ProviderError | None = None
        self._heard_at = asyncio.get_running_loop().time()

    async def open(self) -> None:
        """Start the program. Raises ProviderError."""
        words, cwd = self._launch.words, self._cwd
        if local := find_local_package(words, cwd):
            text = explain_local_package(words, local)
            raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION)
        words, settings = pin_runner(words, words[0], cwd)
        environment = {**self._launch.environ, **settings}
        launch = Launch(argv=words)
        if self._confine is not None:
            try:
                launch = await asyncio.to_thread(self._confine, words, Path(cwd), environment)
            except ToolError as error:
                text = f"the agent {self._launch.name} is to run in the sandbox: {error}"
                raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION) from error
        theirs, ours = os.pipe()
        try:
            # Protected paths that it makes may have been approved: they are told as all that it does unasked.
            self._end_check = launch.begin(was_asked=True)
            self._process = SupervisedProcess(
                launch.argv,
                cwd=Path(cwd),
                environment=environment,
                timeout_secs=None,
                on_output=self._feed,
                on_errors=self._take_errors,
                stdin=theirs,
                guards=launch.guards,
                keys=launch.keys,
            )
        except OSError as error:
            os.close(ours)
            self._end_check()
            text = f"{words[0]} cannot be run: {error.strerror or error}"
            raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION) from error
        finally:
            os.close(theirs)
        self._watching = asyncio.create_task(self._watch())
        loop = asyncio.get_running_loop()
        pipe = os.fdopen(ours, "wb", buffering=0)
        try:
            transport, protocol = await loop.connect_write_pipe(
                lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
            )
        except BaseException:
            pipe.close()
            self._process.end()
            raise
        self._input = asyncio.StreamWriter(transport, protocol, None, loop)

    @property
    def has_ended(self) -> bool:
        """Whether its program is gone, or is not listened to any more."""
        return self._end is not None

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """The result of a request. Raises ProviderError where it fails, or the program is silent too long while
        nothing of it is being answered."""
        number, self._next_id = self._next_id, self._next_id + 1
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._heard_at = asyncio.get_running_loop().time()
        try:
            await self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await self._wait(answer)
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Tell it something. Raises ProviderError."""
        await self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def aclose(self) -> None:
        """Close its input, and end it with all that it started where that is not enough."""
        for task in self._answering:
            task.cancel()
        self._input.close()
        await asyncio.wait({self._watching}, timeout=_CLOSING_SECS)
        self._process.end()
        await asyncio.wait({self._watching})
        await asyncio.gather(*self._answering, return_exceptions=True)

    async def _wait(self, answer: asyncio.Future[JsonObject]) -> JsonObject:
        loop, patience = asyncio.get_running_loop(), self._launch.timeout_secs
        if self._end is not None:
            raise self._end
        while True:
            if self._answering:
                self._heard_at = loop.time()
            left = self._heard_at + patience - loop.time()
            if left <= 0:
                raise ProviderError(
                    f"the agent {self._launch.name} said nothing for {patience:g} s, and was ended; it may "
                    f"wait for a login: start {self._launch.words[0]} once yourself",
                    kind=ProviderErrorKind.TIMEOUT,
                )
            await asyncio.wait({answer}, timeout=left)
            if answer.done():
                return answer.result()

    async def _write(self, message: JsonObject) -> None:
        try:
            self._input.write((replace_surrogates(_JSON.encode(message)) + "\n").encode())
            await self._input.drain()
        except OSError as error:
            await asyncio.wait({self._watching}, timeout=1)
            raise self._end or self._explain_end() from error

    def _feed(self, data: bytes) -> None:
        if self._end is not None:
            return
        self._heard_at = asyncio.get_running_loop().time()
        self._unread += data
        while (end := self._unread.find(b"\n", self._searched)) >= 0:
            line = bytes(self._unread[:end])
            del self._unread[: end + 1]
            self._searched = 0
            self._take_line(line)
        self._searched = len(self._unread)
        if self._searched > _LONGEST_LINE:
            self._unread.clear()
            self._give_up(self._describe("it wrote a line that is too long to be a message"))
            self._process.end()

    def _take_errors(self, data: bytes) -> None:
        self._errors = (self._errors + data.decode("utf-8", "replace"))[-_MOST_NOISE:]

    async def _watch(self) -> None:
        """Until nothing of the program is alive."""
        await self._process.wait()
        await asyncio.to_thread(self._end_check)
        for made in await asyncio.to_thread(lambda: list(self._places.set_aside())):
            _log.warning("the agent %s made %s: %s", self._launch.name, made.path, made.outcome)
        self._give_up(self._end or self._explain_end())

    def _give_up(self, end: ProviderError) -> None:
        self._end = end
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(end)

    def _take_line(self, line: bytes) -> None:
        try:
            message = parse_foreign_json(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._noise = (self._noise + line.decode("utf-8", "replace") + "\n")[-_MOST_NOISE:]
            return
        method, number = read_text_field(message, "method"), message.get("id")
        params = read_object_field(message, "params")
        if method and "id" in message:
            task = asyncio.create_task(self._answer(number, method, params))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif method:
            self._peer.take_notification(method, params)
        elif (
            isinstance(number, int) and (answer := self._waiting.get(number)) is not None and not answer.done()
        ):
            if "error" in message:
                answer.set_exception(self._explain_error(read_object_field(message, "error")))
            else:
                answer.set_result(read_object_field(message, "result"))

    async def _answer(self, number: JsonValue, method: str, params: JsonObject) -> None:
        try:
            outcome: JsonObject = {"result": await self._peer.answer_request(method, params)}
        except UnknownMethod:
            outcome = {"error": {"code": _METHOD_NOT_FOUND, "message": f"quorum does not offer {method}"}}
        except RefusedRequest as refused:
            outcome = {"error": {"code": refused.code, "message": str(refused)}}
        except Exception as error:  # noqa: BLE001 - whatever fails here, the program waits for an answer
            _log.error("the request %s of an agent failed", method, exc_info=error)
            failure = f"quorum failed at {method}: {type(error).__name__}"
            outcome = {"error": {"code": INTERNAL_ERROR, "message": failure}}
        with suppress(ProviderError):  # it is gone: whoever waits for its answer is told
            await self._write({"jsonrpc": "2.0", "id": number, **outcome})

    def _explain_end(self) -> ProviderError:
        """By the last line that it said for people."""
        lines = (self._errors.strip() or self._noise.strip()).splitlines()
        return self._describe(f"its program ended{': ' + fit_to_line(lines[-1]) if lines else ''}")

    def _describe(self, what: str) -> ProviderError:
        return ProviderError(f"the agent {self._launch.name}: {what}", kind=ProviderErrorKind.CONNECTION)

    def _explain_error(self, error: JsonObject) -> ProviderError:
        details = read_object_field(error, "data")
        told = (
            read_text_field(error, "message"),
            *(read_text_field(details, key) for key in ("details", "message")),
        )
        said = fit_to_line(": ".join(dict.fromkeys(filter(None, told)))) or "it gave no reason"
        kind, remedy = ProviderErrorKind.BAD_REQUEST, ""
        if error.get("code") == _AUTH_REQUIRED:
            kind = ProviderErrorKind.AUTHENTICATION
            remedy = f"; sign in to it first: start {self._launch.words[0]} once yourself"
        return ProviderError(f"the agent {self._launch.name} refused: {said}{remedy}", kind=kind)


_MOST_SAME_NAMES = 10_000
_MOST_LINKS = 40  # as many as the system follows


class SetAsidePlace(Struct, frozen=True):
    """A path that the agent has changed, and what became of that, in words."""

    path: str
    outcome: str


class ObeyedPlaces:
    """These absolute paths, as they are before the agent begins. Blocks."""

    def __init__(self, paths: Sequence[str]) -> None:
        followed = dict.fromkeys(each for path in paths for each in _follow(path))
        self._open: Mapping[str, str | None] = {
            path: found for path in followed if (found := _read_link(path)) is None or found
        }

    def set_aside(self) -> Iterator[SetAsidePlace]:
        """Rename what the agent has made by now, and put links back that it has replaced or removed."""
        for path, link in self._open.items():
            if (now := _read_link(path)) == link:
                continue
            try:
                outcome = f"renamed to {_rename(path)}" if now is not None else "put back"
                if link is not None:
                    os.symlink(link, path)
            except OSError as error:
                outcome = f"and cannot be renamed: {error.strerror or error}"
            yield SetAsidePlace(path, outcome)


def _follow(path: str) -> Iterator[str]:
    """The path and, while these are links, where they lead."""
    for _ in range(_MOST_LINKS):
        yield path
        if not (link := _read_link(path)):
            return
        path = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(path)), link))


def _read_link(path: str) -> str | None:
    """Where a link leads, empty for what is none; None where nothing is."""
    try:
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else ""
    except OSError:
        return None


def _rename(path: str) -> str:
    """Give it a free name in its folder. Raises OSError."""
    folder, name = os.path.split(path)
    for number in range(1, _MOST_SAME_NAMES):
        new = f"set-aside-{name.lstrip('.')}~{number}"
        if not os.path.lexists(os.path.join(folder, new)):
            os.rename(path, os.path.join(folder, new))
            return new
    raise OSError("there are too many of that name")
