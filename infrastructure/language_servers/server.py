"""One language server of a session: started on first use, told what files hold, asked, and started anew."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from msgspec import Struct

from quorum.domain.calls.diagnostics import LanguageServerState, LanguageServerStatus
from quorum.domain.errors import ToolError
from quorum.domain.shell.sandbox import SandboxOn
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.config.program_tables import LANGUAGE_FILES, LanguageServerTable
from quorum.infrastructure.execution.commands.sealing import find_declared_program
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.files.searching import Glob
from quorum.infrastructure.files.workspace import Location
from quorum.infrastructure.language_servers.channel import (
    LanguageServerChannel,
    LanguageServerFailed,
    LanguageServerRests,
    RefusedByServer,
    UnknownRequest,
)
from quorum.infrastructure.language_servers.found_problems import (
    FoundProblems,
    PositionEncoding,
    build_uri,
    is_error,
    read_uri,
)
from quorum.infrastructure.language_servers.sources import SourceFiles, find_changes, select_below
from quorum.infrastructure.models.shared.json_fields import (
    read_object_field,
    read_objects_field,
    read_text_field,
)

_ENCODINGS: tuple[PositionEncoding, ...] = ("utf-32", "utf-16", "utf-8")
_MOST_OPEN = 60
_MOST_ASKED = 20
_RETRY_SECS = (1.0, 10.0, 60.0)
_STEADY_SECS = 120.0  # a server that ran so long may fail as often again
_QUIET_SECS = 0.25
# A server that has nothing new to say of a file may say nothing: it is waited for so long, or three times as
# long as it needed the last time.
_SILENT_SECS = 8.0
_LEAST_SILENT_SECS = 1.0
_SETTLE_SECS = 60.0
_AGAIN_SECS = 0.2
_MOST_TRIES = 25
_IN_BETWEEN = frozenset({-32800, -32801, -32802})  # cancelled, content modified, cancelled by the server
_LARGEST_PROGRESS = 200  # tokens

_CAPABILITIES: JsonObject = {
    "general": {"positionEncodings": list(_ENCODINGS)},
    "window": {"workDoneProgress": True},
    "workspace": {
        "applyEdit": False,
        "configuration": True,
        "workspaceFolders": True,
        "didChangeConfiguration": {"dynamicRegistration": False},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "symbol": {"symbolKind": {"valueSet": list(range(1, 27))}},
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"relatedDocumentSupport": True},
        "definition": {"linkSupport": True},
        "typeDefinition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "documentSymbol": {
            "hierarchicalDocumentSymbolSupport": True,
            "symbolKind": {"valueSet": list(range(1, 27))},
        },
    },
}


class OpenDocument(Struct):
    """What the server was told that a file holds, and when; `told_after` is the serial number of its problems
    then. `is_answered`: it has said since what is wrong."""

    text: str
    version: int
    told_after: int
    told_at: float
    is_answered: bool = False


class LanguageServer:
    """Used on one event loop, but for `renew`. What asks or tells it raises LanguageServerFailed where that
    does not come to its end, and ToolError for files that it may not be told of."""

    def __init__(
        self, name: str, table: LanguageServerTable, *, program: ServerProgram, sources: SourceFiles
    ) -> None:
        self.name = name
        self.table = table
        self._program = program
        self.sources = sources
        self._patterns = table.files or tuple(
            pattern for language in table.languages for pattern in LANGUAGE_FILES[language]
        )
        self._channel: LanguageServerChannel | None = None
        self._starting: asyncio.Task[None] | None = None
        self._is_stale = False
        self._failures = 0
        self._retry_at = self._started_at = 0.0
        self._problem = ""
        self._changing = asyncio.Lock()
        self._roots: tuple[str, ...] = ()
        self._forget_all()

    def _forget_all(self) -> None:
        self.encoding: PositionEncoding = "utf-16"
        self.version = ""
        self.problems = FoundProblems(self.sources.label)
        self._offers: JsonObject = {}
        self._documents: dict[str, OpenDocument] = {}
        self._busy: set[str] = set()
        self._watched: dict[str, tuple[Glob, ...]] = {}
        # Of the files that it wants to hear of; None where there are too many.
        self._states: Mapping[str, tuple[int, int]] | None = {}
        self._listing: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._heard_at = 0.0
        self._silent_secs = _SILENT_SECS

    @property
    def is_running(self) -> bool:
        return self._channel is not None and not self._channel.fault

    def serves(self, path: str) -> bool:
        """Whether a file of the workspace is its business, by its absolute path."""
        return any(
            fnmatchcase(relative, pattern)
            for root in self.sources.roots
            for _, relative in select_below((path,), root)
            for pattern in self._patterns
        )

    def renew(self) -> None:
        """Have it started anew at its next use: the workspace is another one. From any thread."""
        self._is_stale = True

    @property
    def status(self) -> LanguageServerStatus:
        """As people see it."""
        lines = [line for lines in self.problems.list_lines().values() for line in lines]
        return LanguageServerStatus(
            name=self.name,
            command=shlex.join(self.table.command),
            languages=self.table.languages,
            state=self._state,
            version=self.version,
            problem=self._problem,
            errors=sum(is_error(line) for line in lines),
            warnings=sum(not is_error(line) for line in lines),
        )

    @property
    def _state(self) -> LanguageServerState:
        if self._starting is not None and not self._starting.done():
            return LanguageServerState.STARTING
        if self.is_running:
            return LanguageServerState.RUNNING
        return LanguageServerState.FAILED if self._problem else LanguageServerState.NOT_STARTED

    # ---------------------------------------------------------------- its life

    async def ensure(self) -> None:
        """Start it where it does not run. Raises LanguageServerFailed."""
        if self._is_stale or (self._roots and self._roots != self.sources.roots):
            self._is_stale, self._failures, self._problem, self._roots = False, 0, "", ()
            await self.aclose()
        if self._starting is None or self._starting.done():
            if self.is_running:
                return
            self._require_time_to_start()
            self._starting = asyncio.create_task(self._start(), name=f"language-server-{self.name}")
        starting = self._starting
        await asyncio.wait([starting])  # it is started for others as well, should this be cancelled
        if starting.cancelled():
            raise LanguageServerFailed("it was ended while it started")
        starting.result()

    async def aclose(self) -> None:
        """End it."""
        # At once: while the one ends, another may be started.
        tasks = [task for task in (self._starting, self._listing) if task is not None]
        (channel, self._channel), self._starting = (self._channel, None), None
        self._forget_all()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if channel is not None:
            await channel.aclose()

    def _require_time_to_start(self) -> None:
        if self._failures > len(_RETRY_SECS):
            raise LanguageServerFailed(
                f"{self._problem}; it failed {self._failures} times and is not started again"
            )
        if self._failures and time.monotonic() < self._retry_at:
            raise LanguageServerRests(f"{self._problem}; it is started again in a while")

    def _note_failure(self, problem: str) -> None:
        if self._started_at and time.monotonic() - self._started_at > _STEADY_SECS:
            self._failures = 0
        self._problem, self._started_at = problem, 0.0
        self._retry_at = time.monotonic() + _RETRY_SECS[min(self._failures, len(_RETRY_SECS) - 1)]
        self._failures += 1
        self._news.set()

    async def _start(self) -> None:
        self._forget_all()
        self._roots, self._started_at = self.sources.roots, 0.0
        channel = LanguageServerChannel(
            notice=lambda method, params: self._take_notice(channel, method, params),
            answer=self._answer,
            on_end=lambda: self._take_end(channel),
            is_busy=lambda: bool(self._busy),
        )
        try:
            launch, environment = await asyncio.to_thread(self._program.prepare)
            await channel.start(launch, environment, self._program.workspace)
            self._channel = channel
            greeting = self._build_greeting()
            answer = await channel.request("initialize", greeting, self.table.start_timeout_secs)
            self._take_offers(answer.result)
            channel.notify("initialized", {})
            if self.table.settings:
                settings = cast("JsonObject", dict(self.table.settings))
                channel.notify("workspace/didChangeConfiguration", {"settings": settings})
            self._list_anew()
        except BaseException as error:
            if self._channel is channel:
                self._channel = None
            if isinstance(error, LanguageServerFailed):
                self._note_failure(str(error))
            await channel.aclose()
            raise
        self._problem, self._started_at = "", time.monotonic()

    def _take_end(self, channel: LanguageServerChannel) -> None:
        if channel is self._channel and self._started_at:
            self._note_failure(channel.fault)
        self._news.set()

    def _build_greeting(self) -> JsonObject:
        folders = self._list_folders()
        return {
            # Its own view of processes may be another one: it ends with its standard input.
            "processId": None,
            "clientInfo": {"name": "quorum"},
            "locale": "en",
            "rootPath": self._roots[0],
            "rootUri": folders[0]["uri"],
            "workspaceFolders": list(folders),
            "capabilities": _CAPABILITIES,
            "initializationOptions": cast("JsonObject", dict(self.table.options)),
            "trace": "off",
        }

    def _list_folders(self) -> Sequence[Mapping[str, str]]:
        return [{"uri": build_uri(root), "name": root.rpartition("/")[2]} for root in self._roots]

    def _take_offers(self, answer: JsonValue) -> None:
        greeting = answer if isinstance(answer, dict) else {}
        self._offers = read_object_field(greeting, "capabilities")
        named = read_text_field(self._offers, "positionEncoding")
        self.encoding = next((each for each in _ENCODINGS if each == named), "utf-16")
        about = read_object_field(greeting, "serverInfo")
        words = (read_text_field(about, "name"), read_text_field(about, "version"))
        self.version = make_printable(" ".join(filter(None, words)), newlines=False)[:80]

    # ---------------------------------------------------------------- what it tells and asks

    def _take_notice(self, channel: LanguageServerChannel, method: str, params: JsonObject) -> None:
        if channel is not self._channel:  # it is being ended
            return
        match method:
            case "textDocument/publishDiagnostics":
                self.problems.take_published(params, self._get_version)
                self._learn_pace(read_uri(read_text_field(params, "uri")))
            case "$/progress":
                self._follow_progress(
                    str(params.get("token")), read_text_field(read_object_field(params, "value"), "kind")
                )
            case _:
                return
        self._heard_at = time.monotonic()
        self._news.set()

    def _get_version(self, path: str) -> int | None:
        document = self._documents.get(path)
        return document.version if document is not None else None

    def _learn_pace(self, path: str | None) -> None:
        document = self._documents.get(path) if path is not None else None
        if document is not None and not document.is_answered:
            document.is_answered = True
            pause = 3 * (time.monotonic() - document.told_at)
            self._silent_secs = min(max(pause, _LEAST_SILENT_SECS), _SILENT_SECS)

    def _follow_progress(self, token: str, kind: str) -> None:
        if kind == "end":
            self._busy.discard(token)
        elif kind == "begin" and len(self._busy) < _LARGEST_PROGRESS:
            self._busy.add(token)

    def _answer(self, method: str, params: JsonObject) -> JsonValue:
        match method:
            case "workspace/configuration":
                return [
                    self._get_settings(read_text_field(each, "section"))
                    for each in read_objects_field(params, "items")
                ]
            case "workspace/workspaceFolders":
                return [dict(each) for each in self._list_folders()]
            case "client/registerCapability":
                for each in read_objects_field(params, "registrations"):
                    self._register(each)
                return None
            case "client/unregisterCapability":
                for each in read_objects_field(params, "unregisterations"):  # as the protocol spells it
                    self._watched.pop(read_text_field(each, "id"), None)
                return None
            case "window/workDoneProgress/create" | "window/showMessageRequest":
                return None
            case "window/showDocument":
                return {"success": False}
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "quorum lets no language server change files"}
            case _ if method.startswith("workspace/") and method.endswith("/refresh"):
                return None
            case _:
                raise UnknownRequest(method)

    def _get_settings(self, section: str) -> JsonValue:
        found: object = self.table.settings
        for name in filter(None, section.split(".")):
            found = found.get(name) if isinstance(found, Mapping) else None
        return cast("JsonValue", found)

    def _register(self, registration: JsonObject) -> None:
        if read_text_field(registration, "method") != "workspace/didChangeWatchedFiles":
            return
        globs: list[Glob] = []
        for watcher in read_objects_field(read_object_field(registration, "registerOptions"), "watchers"):
            text = _read_pattern(watcher)
            for root in self._roots:
                text = text.removeprefix(root.rstrip("/") + "/")
            with suppress(ToolError):  # what cannot be a pattern here watches nothing
                globs.append(Glob(text, "globPattern"))
        former = dict(self._watched)
        self._watched[read_text_field(registration, "id")] = tuple(globs)
        self._list_anew(but_for=lambda relative: self._is_watched(relative, former))

    # ---------------------------------------------------------------- files

    @asynccontextmanager
    async def changing_files(self) -> AsyncIterator[None]:
        """Nobody else tells it of files meanwhile: what it says belongs to what it was told. Raises
        LanguageServerFailed where others take too long."""
        try:
            async with asyncio.timeout(_SETTLE_SECS):
                await self._changing.acquire()
        except TimeoutError as error:
            raise LanguageServerFailed("it is still looking at earlier edits") from error
        try:
            yield
        finally:
            self._changing.release()

    async def open_document(self, location: Location) -> str:
        """Tell it what a file holds now; the text. Raises ToolError and LanguageServerFailed."""
        text = await asyncio.to_thread(self.sources.read, location)
        self.tell_text(location.path, text)
        return text

    def tell_text(self, path: str, text: str) -> None:
        """Tell it what a file holds, where it was not told so before."""
        channel = self._require_channel()
        uri, document = build_uri(path), self._documents.pop(path, None)
        if document is None:
            document = OpenDocument(text, 1, self.problems.serial, time.monotonic())
            item: JsonObject = {"uri": uri, "languageId": self._name_language(path), "version": 1, "text": text}
            channel.notify("textDocument/didOpen", {"textDocument": item})
        elif document.text != text:
            document = OpenDocument(text, document.version + 1, self.problems.serial, time.monotonic())
            versioned: JsonObject = {"uri": uri, "version": document.version}
            channel.notify(
                "textDocument/didChange", {"textDocument": versioned, "contentChanges": [{"text": text}]}
            )
            if self._wants_saves:
                channel.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": text})
        self._documents[path] = document  # the newest last
        while len(self._documents) > _MOST_OPEN:
            self._close_document(next(iter(self._documents)))

    def get_text(self, path: str) -> str | None:
        """What it was told that a file holds; None where it was told nothing."""
        document = self._documents.get(path)
        return document.text if document is not None else None

    async def tell_changes(self) -> None:
        """Tell it which files others have changed, as far as it wants to know. Raises LanguageServerFailed."""
        for path in tuple(self._documents):
            location = self.sources.find(path)
            try:
                if location is None:
                    raise ToolError("it may not be shown any more")
                await self.open_document(location)
            except ToolError:  # gone, or no text any more
                self._close_document(path)

        def is_watched(relative: str) -> bool:
            return self._is_watched(relative, self._watched)

        while True:
            if (listing := self._listing) is not None:
                await asyncio.wait([listing])
            if self._states is None or (states := await self._list_states(is_watched)) is None:
                return
            if self._listing is listing:  # else it wants to hear of other files since
                break
        before, self._states = self._states, states
        changes: list[JsonObject] = [
            {"uri": build_uri(path), "type": int(change)} for path, change in find_changes(before, states)
        ]
        if changes:
            self._require_channel().notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def _close_document(self, path: str) -> None:
        if self._documents.pop(path, None) is not None:
            self.problems.forget(path)
            self._require_channel().notify("textDocument/didClose", {"textDocument": {"uri": build_uri(path)}})

    def _list_anew(self, but_for: Callable[[str], bool] = lambda _relative: False) -> None:
        """Look how the files are of which it wants to hear from now on, so that only what changes is told.
        `but_for`: of these it has heard before."""

        def is_new(relative: str) -> bool:
            return self._is_watched(relative, self._watched) and not but_for(relative)

        async def list_after(former: asyncio.Task[None] | None) -> None:
            if former is not None:
                await asyncio.wait([former])
            states, known = await self._list_states(is_new), self._states
            self._states = None if states is None or known is None else {**states, **known}

        self._listing = asyncio.create_task(list_after(self._listing), name=f"files-{self.name}")

    async def _list_states(self, is_wanted: Callable[[str], bool]) -> Mapping[str, tuple[int, int]] | None:
        return await run_in_thread(lambda stop: self.sources.list_states(is_wanted, stop))

    def _is_watched(self, relative: str, watched: Mapping[str, tuple[Glob, ...]]) -> bool:
        if any(fnmatchcase(relative, pattern) for pattern in self._patterns):
            return True
        return any(glob.matches(relative) for globs in tuple(watched.values()) for glob in globs)

    def _name_language(self, path: str) -> str:
        name = path.rpartition("/")[2]
        languages = dict.fromkeys((*self.table.languages, *LANGUAGE_FILES))
        known = (each for each in languages if any(fnmatchcase(name, p) for p in LANGUAGE_FILES.get(each, ())))
        return next(known, self.table.languages[0])

    @property
    def _wants_saves(self) -> bool:
        sync = self._offers.get("textDocumentSync")
        return isinstance(sync, dict) and bool(sync.get("save"))

    # ---------------------------------------------------------------- questions

    async def ask(self, method: str, params: JsonObject) -> JsonValue:
        """Its answer, once it has read the project, as far as it says when it has."""
        is_asked_again = False
        for _ in range(_MOST_TRIES):
            await self._wait_until_idle(self.table.timeout_secs)
            try:
                answer = await self._require_channel().request(method, params, self.table.timeout_secs)
            except RefusedByServer as refusal:
                if refusal.code not in _IN_BETWEEN:
                    raise
                await asyncio.sleep(_AGAIN_SECS)
            else:
                if is_asked_again or not answer.is_early:
                    return answer.result
                is_asked_again = True  # it had only begun to read the project
        raise LanguageServerFailed(f"it is too busy to answer {method}")

    def offers(self, capability: str) -> bool:
        """Whether it says that it can do something, by the name of the capability."""
        return self._offers.get(capability) not in (None, False)

    async def settle(self, paths: Sequence[str]) -> None:
        """Wait until it has said what is wrong with these files as it was told last and, where it has to be
        asked, with the other open ones that may depend on them."""
        provider = self._offers.get("diagnosticProvider")
        if not self.offers("diagnosticProvider"):
            for path in paths:
                await self._settle(path)
            return
        is_linked = isinstance(provider, dict) and provider.get("interFileDependencies") is True
        others = list(self._documents)[-_MOST_ASKED:] if is_linked and paths else []
        for path in dict.fromkeys((*paths, *others)):
            identified: JsonObject = {"textDocument": {"uri": build_uri(path)}}
            self.problems.take_pulled(path, await self.ask("textDocument/diagnostic", identified))

    async def _settle(self, path: str) -> None:
        begun = time.monotonic()
        while (now := time.monotonic()) < begun + _SETTLE_SECS:
            self._require_channel()
            document = self._documents.get(path)
            is_said = document is None or self.problems.is_published(
                path, document.version, document.told_after
            )
            if not self._busy and (is_said or now > begun + self._silent_secs):
                left = self._heard_at + _QUIET_SECS - now
                if left <= 0:
                    if not is_said:
                        self._silent_secs = max(self._silent_secs / 2, _LEAST_SILENT_SECS)
                    return
                await self._wait_for_news(left)
            else:
                await self._wait_for_news(_AGAIN_SECS)

    async def _wait_until_idle(self, most_secs: float) -> None:
        until = time.monotonic() + most_secs
        while self._busy and (left := until - time.monotonic()) > 0:
            self._require_channel()
            await self._wait_for_news(left)

    async def _wait_for_news(self, most_secs: float) -> None:
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(most_secs):
                await self._news.wait()

    def _require_channel(self) -> LanguageServerChannel:
        channel = self._channel
        if channel is None or channel.fault:
            raise LanguageServerFailed(self._problem or "it does not run")
        return channel


def _read_pattern(watcher: JsonObject) -> str:
    """The pattern of files that a server wants to hear of, behind the folder that it is relative to."""
    pattern = watcher.get("globPattern")
    if not isinstance(pattern, dict):
        return str(pattern)
    base = read_uri(
        read_text_field(pattern, "baseUri") or read_text_field(read_object_field(pattern, "baseUri"), "uri")
    )
    text = read_text_field(pattern, "pattern")
    return text if base is None else f"{base}/{text}"


class ServerProgram(Struct, frozen=True, kw_only=True):
    """The program of a server, with its arguments and environment, and where it runs."""

    command: Sequence[str]
    environment: Mapping[str, str]
    workspace: Path
    sandbox: Sandbox

    def prepare(self) -> tuple[Launch, Mapping[str, str]]:
        """What to start, and its environment. Blocks. Raises LanguageServerFailed where there is no such
        program, or no sandbox though the settings require one."""
        name, *words = self.command
        sandbox = self.sandbox
        try:
            is_confined = isinstance(sandbox.detect_state(), SandboxOn)
            argv, environment = find_declared_program(
                name, words, self.environment, cwd=self.workspace, is_confined=is_confined
            )
            if is_confined:
                launch = sandbox.wrap(argv, self.workspace, environment, network=False, is_read_only=True)
                return launch, environment
            sandbox.confine()  # raises where the settings require a sandbox
        except ToolError as error:
            raise LanguageServerFailed(str(error)) from error
        return Launch(argv=argv), environment
