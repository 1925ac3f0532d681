"""The one Copilot CLI of this program: started when first needed, and again when it has died."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from copilot import CopilotClient, ProviderConfig, RuntimeConnection, SessionEvent
from copilot._jsonrpc import JsonRpcError
from copilot.session import ReasoningEffort

from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.files.swept_folder import COPILOT_PREFIX, open_swept_folder
from quorum.infrastructure.models.copilot.channel import SDK_FAILURES, Channel, await_acceptance, declare_tools
from quorum.infrastructure.models.copilot.failures import CopilotFailures
from quorum.infrastructure.models.copilot.launch import CliLaunch

_VERSION_SECS = 20.0
_MISMATCH = re.compile(r"protocol version mismatch|does not report a protocol version", re.IGNORECASE)
_SPOKEN = re.compile(r"reports version (\d+)")

# An explicit path keeps the SDK from fetching a CLI; this says so a second time.
os.environ.setdefault("COPILOT_SKIP_CLI_DOWNLOAD", "1")
# What the CLI writes to stderr is quoted in errors; logged, it would land on a screen that is being drawn.
logging.getLogger("copilot").addHandler(logging.NullHandler())

_START_SECS = 60.0  # the first start ever unpacks 235 MB
_PING_SECS = 10.0
_STOP_SECS = 5.0
_MODELS_SECS = 60.0

_REASONING_EFFORTS: Mapping[Effort, ReasoningEffort] = {
    Effort.LOW: "low",
    Effort.MEDIUM: "medium",
    Effort.HIGH: "high",
    Effort.XHIGH: "xhigh",
    Effort.MAX: "max",
}


class CliProcess:
    """Starts, watches and stops the CLI. Its private folder lives as long as it does."""

    def __init__(self, launch: CliLaunch, failures: CopilotFailures) -> None:
        self._launch = launch
        self._failures = failures
        self._client: CopilotClient | None = None
        self._folder: Path | None = None
        self._keeping = contextlib.ExitStack()
        self._starting = asyncio.Lock()
        self._channels: set[Channel] = set()
        self._abandoned: list[Channel] = []

    @property
    def pid(self) -> int | None:
        """The id of the CLI's process; None while there is none."""
        running = self._client._cli_process if self._client is not None else None
        return running.pid if running is not None else None

    async def open(
        self,
        model: str,
        system: str,
        tools: tuple[JsonObject, ...],
        *,
        with_tools: bool,
        effort: Effort = Effort.DEFAULT,
    ) -> Channel:
        """A new session of the CLI; without tools, none can ever be offered in it. Raises ProviderError."""
        client = await self._require_living_client()
        events: asyncio.Queue[SessionEvent] = asyncio.Queue()
        creating = client.create_session(
            model=model,
            reasoning_effort=_REASONING_EFFORTS.get(effort),
            client_name="quorum",
            provider=self._build_provider(),
            system_message={"mode": "replace", "content": system},
            tools=declare_tools(tools),
            available_tools=["custom:*"] if with_tools else [],
            excluded_tools=["builtin:*", "mcp:*"],
            streaming=True,
            on_event=events.put_nowait,
            infinite_sessions={"enabled": False},
            large_output={"enabled": False},
            # Nothing of the person's other use of Copilot, and nothing of the project, gets in.
            config_directory=self._make_private_folder("config"),
            enable_config_discovery=False,
            enable_file_hooks=False,
            enable_host_git_operations=False,
            enable_on_demand_instruction_discovery=False,
            enable_session_store=False,
            enable_session_telemetry=False,
            enable_skills=False,
            skip_custom_instructions=True,
            skip_embedding_retrieval=True,
            custom_agents_local_only=True,
            memory={"enabled": False},
        )
        session = await await_acceptance(creating, "open a session", self._failures)
        channel = Channel(
            client,
            session,
            events,
            tools,
            failures=self._failures,
            check=lambda partial: self._check(client, partial=partial),
            timeout_secs=self._launch.timeout_secs,
        )
        self._channels.add(channel)
        return channel

    async def close(self, channel: Channel) -> None:
        """Close a session of the CLI."""
        self._channels.discard(channel)
        await channel.close()

    def abandon(self, channels: dict[str, Channel]) -> None:
        """Have these sessions closed when the CLI is next asked for something. Any thread may say so."""
        self._abandoned.extend(channels.values())

    async def list_models(self) -> tuple[str, ...]:
        """The models that GitHub offers to the person. Raises ProviderError."""
        client = await self._require_living_client()
        try:
            async with asyncio.timeout(_MODELS_SECS):
                return tuple(model.id for model in await client.list_models())
        except TimeoutError as error:
            raise self._failures.explain_timeout("list its models", _MODELS_SECS) from error
        except JsonRpcError as error:
            raise self._failures.explain_listing_failure(error.message) from error
        except SDK_FAILURES as error:
            raise self._failures.explain_listing_failure(str(error)) from error

    async def aclose(self) -> None:
        """Stop the CLI: asked first, killed if it does not go. Its sessions are forgotten, here and there."""
        async with self._starting:
            if self._client is not None and await self._lives(self._client):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_STOP_SECS):
                        await asyncio.gather(*(channel.close() for channel in self._channels))
            await self._stop()

    async def _require_living_client(self) -> CopilotClient:
        async with self._starting:
            if self._client is not None and not await self._lives(self._client):
                await self._stop()
            if self._client is None:
                self._client = await self._start()
            while self._abandoned:
                await self.close(self._abandoned.pop())
            return self._client

    async def _check(self, client: CopilotClient, *, partial: bool) -> None:
        """Raises ProviderError if the process of this client is gone, or no longer answers."""
        try:
            async with asyncio.timeout(_PING_SECS):
                await client.ping()
        except TimeoutError as error:
            raise self._failures.explain_timeout("answer a ping", _PING_SECS) from error
        except SDK_FAILURES as error:
            raise self._failures.explain_exit(str(error), partial=partial) from error

    async def _lives(self, client: CopilotClient) -> bool:
        try:
            await self._check(client, partial=False)
        except ProviderError:
            return False
        return True

    async def _start(self) -> CopilotClient:
        client = self._build_client()
        try:
            async with asyncio.timeout(_START_SECS):
                await client.start()
        except TimeoutError as error:
            await self._stop_client(client)
            raise self._failures.explain_start_failure(f"it did not answer within {_START_SECS:g} s") from error
        except SDK_FAILURES as error:
            await self._stop_client(client)
            if is_mismatch(error):
                raise self._failures.explain_wrong_version(
                    await describe_version(self._launch, error)
                ) from error
            raise self._failures.explain_start_failure(str(error)) from error
        except asyncio.CancelledError:
            await asyncio.shield(self._stop_client(client))
            raise
        return client

    def _build_client(self) -> CopilotClient:
        launch = self._launch
        connection = RuntimeConnection.for_stdio(path=launch.program)
        if launch.uses_own_login:  # it lies in the person's own folder and keychain, which "empty" would hide
            return TidyClient(
                connection=connection,
                env=dict(launch.environ),
                working_directory=self._make_private_folder("work"),
                log_level="error",
                use_logged_in_user=True,
            )
        return TidyClient(
            connection=connection,
            env=dict(launch.environ),
            working_directory=self._make_private_folder("work"),
            base_directory=self._make_private_folder("home"),
            log_level="error",
            github_token=launch.token or None,
            use_logged_in_user=False,
            mode="empty",
        )

    def _build_provider(self) -> ProviderConfig | None:
        server = self._launch.server
        if server is None:
            return None
        config = ProviderConfig(type="openai", wire_api="completions", base_url=server.address)
        if server.key:
            config["api_key"] = server.key
        if self._launch.max_output_tokens is not None:
            config["max_output_tokens"] = self._launch.max_output_tokens
        return config

    def _make_private_folder(self, name: str) -> str:
        if self._folder is None:
            self._folder = self._keeping.enter_context(open_swept_folder(COPILOT_PREFIX))
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        return str(folder)

    async def _stop(self) -> None:
        client, self._client = self._client, None
        self._channels.clear()
        self._abandoned.clear()
        if client is not None:
            await asyncio.shield(self._stop_client(client))
        self._folder = None
        await asyncio.to_thread(self._keeping.pop_all().close)

    async def _stop_client(self, client: CopilotClient) -> None:
        try:
            async with asyncio.timeout(_STOP_SECS):
                await client.stop()
        except (ExceptionGroup, TimeoutError):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # it is gone already
                await client.force_stop()


def is_mismatch(error: Exception) -> bool:
    """Whether the SDK refused the CLI because of its protocol."""
    return _MISMATCH.search(str(error)) is not None


async def describe_version(launch: CliLaunch, mismatch: Exception) -> str:
    """The version that the program gives, and the protocol that it spoke."""
    spoken = _SPOKEN.search(str(mismatch))
    protocol = f"protocol {spoken[1]}" if spoken else "another protocol"
    said = await _read_version(launch)
    return f"{said} ({protocol})" if said else protocol


async def _read_version(launch: CliLaunch) -> str:
    try:
        async with (
            open_program((launch.program, "--version"), environment=launch.environ) as asked,
            asyncio.timeout(_VERSION_SECS),
        ):
            said, _ = await asked.communicate()
    except OSError:  # it cannot be started, or takes too long
        return ""
    return said.decode("utf-8", "replace").strip().partition("\n")[0]


class TidyClient(CopilotClient):
    """Closes the pipes of its process, however that comes to its end; the SDK leaves them to the collector."""

    async def stop(self) -> None:
        """Ask the process to go. Raises ExceptionGroup of StopError."""
        process = self._cli_process
        try:
            await super().stop()
        finally:
            _close_pipes(process)

    async def force_stop(self) -> None:
        """Kill the process. Raises OSError or subprocess.TimeoutExpired."""
        process = self._cli_process
        try:
            await super().force_stop()
        finally:
            _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes] | None) -> None:
    if process is None or process.poll() is None:
        return
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was still to be written has no reader any more
                pipe.close()
