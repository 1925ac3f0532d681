"""The transport to an MCP server over streamable HTTP, which makes answers fit the protocol."""

from __future__ import annotations

import asyncio
import html
import json
import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any

import httpx2
from mcp.client._transport import Transport, TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import MCP_DEFAULT_SSE_READ_TIMEOUT, MCP_DEFAULT_TIMEOUT

from quorum.domain.text.amounts import format_size
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.http_client import HttpClient
from quorum.infrastructure.mcp.answers import RequestId, ServerAnswers, is_part_of_answer
from quorum.infrastructure.mcp.json_lines import Piece, UnreadableText, read_json
from quorum.infrastructure.mcp.oauth.login_store import LoginStore
from quorum.infrastructure.mcp.oauth.session_auth import SessionAuth, read_missed_scope

LARGEST_ANSWER = 16 << 20
"""The bytes of one answer, or of one event of a stream, at the most."""

_SESSION = "mcp-session-id"
_UNUSABLE_SESSION = "the server gives the session an id that is not in visible ASCII, which cannot be sent back"
_METHOD_NOT_FOUND = -32601
_INTERNAL_ERROR = -32603
# the codes under which SDKs refuse a request, and none under which tools fail
_OF_PROTOCOL = frozenset({-32600, -32001})
_FORGOTTEN = (
    r"(?i)(?:bad request:\s*)?(?:"
    r"(?:mcp[ -])?session(?:[ _-]?id)? (?:(?:is|was|has) )?(?:been )?"
    r"(?:not found|unknown|invalid|expired|terminated|closed|not initialized|no longer)"
    r"|(?:unknown|invalid|expired|no valid|no such) (?:mcp[ -])?session\b"
    r"|server (?:is )?not (?:yet )?initialized|expected (?:an )?initialize\b|not initialized yet)"
)
_LONGEST_REASON = 500
_EVENTS = "text/event-stream"
# Some servers end each stream and ask for it again at once, which would be a request every few milliseconds.
_SHORTEST_RETRY_MS = 500
# how servers refuse a message to an address that only gives a stream, and how long that may take to begin
_OF_NO_POST = frozenset({400, 404, 405, 406, 415})
_OLDER_SECS = 5.0
_OLDER = (
    "{url} speaks the older transport of a stream and messages (SSE); set url to its address for streamable "
    'HTTP, often one that ends in /mcp, or a bridge: command = ["npx", "-y", "mcp-remote", "{url}"]'
)
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


class AnswerClient(HttpClient):
    """An HTTP client that reads what a server sends for `answers`.

    `on_forgotten` is called where the server no longer knows the session of a request, which it has not done.
    `login_command` tells how to get another token; empty where it is not from a login.
    """

    def __init__(
        self,
        answers: ServerAnswers,
        *,
        on_forgotten: Callable[[], None],
        headers: Mapping[str, str],
        auth: httpx2.Auth | None,
        login_command: str = "",
    ) -> None:
        timeout = httpx2.Timeout(MCP_DEFAULT_TIMEOUT, read=MCP_DEFAULT_SSE_READ_TIMEOUT)
        super().__init__(headers=headers, auth=auth, timeout=timeout)
        self._answers = answers
        self._on_forgotten = on_forgotten
        self._login_command = login_command
        self._late = _LateAnswers()

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        sent = _read_request(request)
        self._answers.note_request(sent)
        response = await super().send(request, **options)
        if response.is_redirect:
            return response
        request_id = sent.get("id") if "method" in sent else None
        asked = request_id if isinstance(request_id, int | str) else None
        if (
            sent.get("method") == "initialize"
            and (given := _find_unusable_session(response))
            and asked is not None
        ):
            await response.aclose()
            error: JsonObject = {"code": _INTERNAL_ERROR, "message": f"{_UNUSABLE_SESSION}: {given}"}
            (message,) = self._answers.read({"error": error}, answers=asked)
            return _rebuild(response, content=json.dumps(message).encode())
        kind = response.headers.get("content-type", "").lower()
        if response.is_success and kind.startswith(_EVENTS):
            late = self._late if request.method == "GET" else None
            return _rebuild(response, stream=_FittedEvents(response, self._answers, asked, late))
        if asked is None:
            return response
        body, fault = await _read_body(response)
        text = body.decode("utf-8", "replace")
        if response.status_code == 202 and _is_noise(_read_piece(text)) and not fault:
            if self._late.can_come and self._answers.is_open(asked):
                return _rebuild(response, stream=_LateAnswer(self._late, self._answers, asked))
            messages = [self._answers.refuse(asked, "HTTP 202 Accepted, and nothing else", text)]
        elif response.is_success:
            messages = (
                [self._answers.refuse(asked, fault, text)]
                if fault
                else self._answers.read(_read_answer(text), answers=asked)
            )
            if _SESSION in request.headers and any(map(_tells_of_no_session, messages)):
                self._on_forgotten()
        else:
            messages = [self._explain_status(request, response, text, asked)]
            is_greeting = sent.get("method") == "initialize" and response.status_code in _OF_NO_POST
            if is_greeting and await self._speaks_older(request):
                error = {"code": _INTERNAL_ERROR, "message": _OLDER.format(url=request.url)}
                messages = self._answers.read({"error": error}, answers=asked)
        own = [message for message in messages if message.get("id") == asked]
        message = own[0] if own else self._answers.refuse(asked, fault or "it is another message", text)
        return _rebuild(response, content=json.dumps(message).encode())

    async def _speaks_older(self, request: httpx2.Request) -> bool:
        """Whether the address is that of a stream, as servers before streamable HTTP have it."""
        try:
            async with asyncio.timeout(_OLDER_SECS):
                asking = self.build_request("GET", request.url, headers={"accept": _EVENTS})
                response = await super().send(asking, auth=None, stream=True)
                try:
                    kind = response.headers.get("content-type", "").lower()
                    return response.is_success and kind.startswith(_EVENTS)
                finally:
                    await response.aclose()
        except (httpx2.HTTPError, TimeoutError):
            return False

    def _explain_status(
        self, request: httpx2.Request, response: httpx2.Response, text: str, asked: RequestId
    ) -> JsonObject:
        """The error that a status stands for, or that its body holds."""
        piece = _read_piece(text)
        error = piece.get("error") if isinstance(piece, Mapping) and "jsonrpc" in piece else None
        status = response.status_code
        missed = read_missed_scope(response)
        if error is not None and missed is None:
            (message,) = self._answers.read({"error": error}, answers=asked)
            code = _get_code(message)
        else:
            code = (
                _METHOD_NOT_FOUND
                if status in (404, 405) and _SESSION not in request.headers
                else _INTERNAL_ERROR
            )
            said = error.get("message") if isinstance(error, Mapping) else text
            words = _describe_status(response, said if isinstance(said, str) else text)
            if missed is not None:
                words += f"; the token lacks the scope {missed}" if missed else "; the token lacks a scope"
                words += self._login_command
            (message,) = self._answers.read({"error": {"code": code, "message": words}}, answers=asked)
        is_unknown = status in (404, 410) and (error is None or code != _METHOD_NOT_FOUND)
        is_named = status == 400 and "session" in text.lower()
        is_refused = (
            status < 500 and status not in (401, 429) and compile_once(_FORGOTTEN).search(text) is not None
        )
        if _SESSION in request.headers and (is_unknown or is_named or is_refused):
            self._on_forgotten()
        return message


class _LateAnswers:
    """Answers to requests that a server only accepts, and answers on the stream that is open for its own."""

    def __init__(self) -> None:
        self._streams = 0
        self._waiting: dict[RequestId, asyncio.Future[JsonObject | None]] = {}

    @property
    def can_come(self) -> bool:
        return self._streams > 0

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Have a stream open; with the last one end those that wait."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1
            if not self._streams:
                for future in self._waiting.values():
                    if not future.done():
                        future.set_result(None)

    def take(self, message: JsonObject) -> bool:
        """Whether somebody waits for this message, and has it now."""
        request_id = message.get("id")
        future = self._waiting.get(request_id) if isinstance(request_id, int | str) else None
        if future is None or future.done() or "method" in message:
            return False
        future.set_result(message)
        return True

    async def wait(self, request_id: RequestId) -> JsonObject | None:
        """The answer; None where none can come any more."""
        if not self._streams:
            return None
        future: asyncio.Future[JsonObject | None] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        try:
            return await future
        finally:
            del self._waiting[request_id]


class _LateAnswer(httpx2.AsyncByteStream):
    """The answer to a request that was accepted, as the only event of a stream."""

    def __init__(self, late: _LateAnswers, answers: ServerAnswers, asked: RequestId) -> None:
        self._late = late
        self._answers = answers
        self._asked = asked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        message = await self._late.wait(self._asked)
        why = "HTTP 202 Accepted, and the stream for the answer has ended"
        yield _build_event(message or self._answers.refuse(self._asked, why, ""))


class _FittedEvents(httpx2.AsyncByteStream):
    """The events of a stream, each with the messages of its data in the protocol's forms.

    Signs of life and other noise end no call: the answer may follow. Where it does not, they are what came.
    """

    def __init__(
        self,
        response: httpx2.Response,
        answers: ServerAnswers,
        asked: RequestId | None,
        late: _LateAnswers | None = None,
    ) -> None:
        self._response = response
        self._late = late
        self._answers = answers
        self._asked = asked
        self._noise: list[Piece] = []  # the last of it
        self._is_answered = self._can_go_on = False
        self._is_body: bool | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._late.listen() if self._late is not None else nullcontext():
            async for part in self._fit():
                yield part

    async def _fit(self) -> AsyncIterator[bytes]:
        fields: list[bytes] = []
        rest = b""
        async for part in _end_lines_alike(self._response.aiter_bytes()):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                if self._is_of_body(line):
                    fields.append(b"data:" + line)
                    continue
                if not (line.startswith(b"id:") and not line.isascii()):  # no header could say it again
                    fields.append(_bound_retry(line))
                if not line:
                    yield self._fit_event(fields)
                    fields = []
            if len(rest) + sum(map(len, fields)) > LARGEST_ANSWER:
                yield self._end(fields, f"it is longer than {format_size(LARGEST_ANSWER)}")
                return
        fields.append(b"data:" + rest if self._is_of_body(rest) else rest)
        if any(field.startswith(b"data:") for field in fields):
            yield self._fit_event(fields)
        if self._noise and not self._is_answered and not self._can_go_on:
            for message in self._answers.read(self._noise[-1], answers=self._asked):
                yield _build_event(message)

    async def aclose(self) -> None:
        await self._response.aclose()

    def _is_of_body(self, line: bytes) -> bool:
        """Whether a line is of a message that some servers send as it is in place of events."""
        if self._is_body is None and line.strip():
            self._is_body = line.lstrip().startswith((b"{", b"["))
        return bool(self._is_body)

    def _fit_event(self, fields: list[bytes]) -> bytes:
        data = [field[5:].removeprefix(b" ") for field in fields if field.startswith(b"data:")]
        others = b"".join(field + b"\n" for field in fields if field and not field.startswith(b"data:"))
        text = b"\n".join(data).decode("utf-8", "replace").strip()
        if not text:
            return others + (b"data:\n\n" if data else b"\n")
        piece = _read_piece(text)
        place = b"".join(field + b"\n" for field in fields if field.startswith((b"id:", b"retry:")))
        self._can_go_on = self._can_go_on or any(field.startswith(b"id:") for field in fields)
        if self._asked is not None and _is_noise(piece):
            self._noise = [piece]
            return place + b"data:\n\n" if place else b""
        if isinstance(piece, Mapping):  # some servers name their events otherwise than "message"
            others = place
        is_answer = not (isinstance(piece, Mapping) and "method" in piece)
        if is_answer and self._late is not None and isinstance(piece, Mapping) and piece.get("id") is None:
            return place + b"data:\n\n" if place else b""  # of requests, only the one it came for is meant so
        messages = self._answers.read(piece, answers=self._asked if is_answer else None)
        self._is_answered = self._is_answered or (is_answer and bool(messages))
        if self._late is not None:
            messages = [message for message in messages if not self._late.take(message)]
        return b"".join(others + _build_event(message) for message in messages)

    def _end(self, fields: list[bytes], why: str) -> bytes:
        if self._asked is None:
            return b""
        came = b"\n".join(fields)[:LARGEST_ANSWER].decode("utf-8", "replace")
        return _build_event(self._answers.refuse(self._asked, why, came))


async def _end_lines_alike(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The bytes of a stream without the mark of their order, each line ended by a line feed: events may end
    theirs with that, with a carriage return, or with both."""
    begun, follows_return = b"", False
    is_begun = False
    async for part in parts:
        if not is_begun:
            begun += part
            if len(begun) < len(BOM_UTF8) and BOM_UTF8.startswith(begun):
                continue
            part, is_begun = begun.removeprefix(BOM_UTF8), True
        if follows_return:
            part = part.removeprefix(b"\n")
        follows_return = part.endswith(b"\r") if part else False
        yield part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not is_begun:
        yield begun


def _bound_retry(line: bytes) -> bytes:
    """The line; where it asks for a stream to be opened again in next to no time, with the shortest wait."""
    name, _, wait = line.partition(b":")
    digits = wait.strip().lstrip(b"0")
    is_short = name == b"retry" and wait.strip().isdigit() and len(digits) <= len(str(_SHORTEST_RETRY_MS))
    return b"retry: %d" % max(int(digits or b"0"), _SHORTEST_RETRY_MS) if is_short else line


def _build_event(message: JsonObject) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


def _read_request(request: httpx2.Request) -> JsonObject:
    """The message that a request carries; empty where it carries none."""
    try:
        value = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return {}
    return value if isinstance(value, dict) else {}


def _read_piece(text: str) -> Piece:
    try:
        return read_json(text.lstrip("\ufeff").strip())
    except (ValueError, RecursionError):
        return UnreadableText(text)


def _read_answer(text: str) -> Piece:
    """What a body holds; some servers send events under another type."""
    piece = _read_piece(text)
    if not isinstance(piece, UnreadableText):
        return piece
    events = [_read_piece(line[5:]) for line in text.splitlines() if line.startswith("data:")]
    return [each for each in events if not isinstance(each, UnreadableText) and not _is_noise(each)] or piece


def _is_noise(piece: Piece) -> bool:
    """Whether it was not meant as a message, as far as one can see."""
    match piece:
        case UnreadableText():
            return not is_part_of_answer(piece.text)
        case Mapping():
            return not piece.keys() & {"jsonrpc", "method", "result", "error"}
        case list():
            return not piece
        case _:
            return True


async def _read_body(response: httpx2.Response) -> tuple[bytes, str]:
    """As much of it as comes, and why that is not all; empty where it is."""
    parts: list[bytes] = []
    length = 0
    try:
        async for part in response.aiter_bytes():
            parts.append(part)
            length += len(part)
            if length > LARGEST_ANSWER:
                return b"".join(parts), f"it is longer than {format_size(LARGEST_ANSWER)}"
    except httpx2.HTTPError as error:
        return b"".join(parts), f"it was cut off ({str(error) or type(error).__name__})"
    finally:
        await response.aclose()
    return b"".join(parts), ""


def _rebuild(
    response: httpx2.Response, *, content: bytes | None = None, stream: httpx2.AsyncByteStream | None = None
) -> httpx2.Response:
    kind = _EVENTS if content is None else "application/json"
    session = {}
    if (given := response.headers.get(_SESSION)) and not _find_unusable_session(response):
        session[_SESSION] = given
    return httpx2.Response(
        200 if response.is_success else response.status_code,  # the SDK reads no answer under another
        headers={"content-type": kind, **session},
        content=content,
        stream=stream,
        request=response.request,
    )


def _find_unusable_session(response: httpx2.Response) -> str:
    """The id of a session that no header can hold; empty where there is none, or a good one."""
    session = response.headers.get(_SESSION, "")
    is_good = session.isascii() and session.isprintable()
    return "" if is_good else make_printable(session, newlines=False)[:_LONGEST_REASON]


def _describe_status(response: httpx2.Response, text: str) -> str:
    """What a status and its body say, in one line."""
    reason = response.reason_phrase
    said = " ".join(html.unescape(_TAG.sub(" ", text)).split())
    words = f"HTTP {response.status_code}{f' {reason}' if reason else ''}"
    if said:
        words += f": {make_printable(said, newlines=False)[:_LONGEST_REASON]}"
    if wait := response.headers.get("retry-after"):
        words += f" (it asks to wait: Retry-After {make_printable(wait, newlines=False)[:40]})"
    if response.status_code >= 500:
        words += "; whether the call took effect is not known"
    return words


def _get_code(message: JsonObject) -> JsonValue:
    error = message.get("error")
    return error.get("code") if isinstance(error, Mapping) else None


def _tells_of_no_session(message: JsonObject) -> bool:
    """Whether an error, sent with success, is about the session and not what a tool says of one of its own."""
    error = message.get("error")
    words = str(error.get("message")) if isinstance(error, Mapping) else ""
    return _get_code(message) in _OF_PROTOCOL and compile_once(_FORGOTTEN).match(words) is not None


class HttpTransport:
    """Implements the SDK's `Transport`; what it sends goes to this address only, along no redirect to another.

    `headers` go with every request. Where none of them is `Authorization`, the login of `logins` is sent where
    the server asks for it.
    """

    def __init__(self, server: str, url: str, *, headers: Mapping[str, str], logins: LoginStore) -> None:
        self._server = server
        self._url = url
        self._headers = dict(headers)
        self._logins = logins
        self._login_command = f" (quorum mcp login {server}, or /mcp login {server})"
        self.problem = ""
        self.needs_login = False
        self.notice = ""
        self.is_forgotten = self.is_unread = False
        self._answers = ServerAnswers(server)
        self.ended = asyncio.Event()  # there is no end to see: a request that fails tells

    @property
    def dropped(self) -> tuple[str, ...]:
        """What of the server's lists cannot be used."""
        return self._answers.dropped

    def get_transport(self) -> Transport:
        return self

    async def __aenter__(self) -> TransportStreams:
        """Get ready; the first request connects."""
        auth = None
        if not any(name.lower() == "authorization" for name in self._headers):
            auth = SessionAuth(
                self._server,
                self._url,
                self._logins,
                on_refusal=self._note_refusal,
                on_notice=self._note,
            )
        self._http = AnswerClient(
            self._answers,
            on_forgotten=self._note_forgotten,
            headers=self._headers,
            auth=auth,
            login_command=self._login_command if auth is not None else "",
        )
        await self._http.__aenter__()
        self._streams = streamable_http_client(
            self._url, http_client=self._http, max_sse_event_size=LARGEST_ANSWER
        )
        try:
            return await self._streams.__aenter__()
        except BaseException:
            await self._http.__aexit__(None, None, None)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """End the session with the server."""
        try:
            return await self._streams.__aexit__(kind, error, trace)
        finally:
            await self._http.__aexit__(None, None, None)

    def _note_forgotten(self) -> None:
        self.is_forgotten = True

    def _note(self, notice: str) -> None:
        self.notice = notice

    def _note_refusal(self, reason: str) -> None:
        self.problem = reason + self._login_command
        self.needs_login = True
        self.ended.set()
