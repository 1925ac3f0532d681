"""Sessions of a client, each with the settings of its own folder: one prompt at a time, each cancellable."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acp.exceptions import RequestError
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    Cost,
    PromptResponse,
    StopReason,
    UnstructuredCommandInput,
    Usage,
    UsageUpdate,
)

from quorum.acp_agent.client_approver import ClientApprover
from quorum.acp_agent.client_servers import convert_servers, explain_unread
from quorum.acp_agent.config_options import ConfigOption, ConfigOptions
from quorum.acp_agent.layered_session import SessionPlace
from quorum.acp_agent.prompt_blocks import PromptBlock, PromptBuilder
from quorum.acp_agent.sign_in import require_provider
from quorum.acp_agent.standard_io import Outbox
from quorum.acp_agent.tool_calls import convert_json, show_line
from quorum.acp_agent.update_feed import UpdateFeed, build_message, build_notice
from quorum.application.ports.people import Approver, Observer
from quorum.application.ports.storage import Storage
from quorum.application.session.agent_session import AgentSession
from quorum.application.session.session_record import SessionRecord
from quorum.application.session_folders import WantedFolder, list_option_folders
from quorum.command_line.options import StartOptions
from quorum.domain.conversation.cost import SpendCap
from quorum.domain.conversation.response import StopKind
from quorum.domain.errors import (
    AttachmentError,
    CommandRefused,
    ConversationError,
    GoalRefused,
    LedgerError,
    QuorumError,
)
from quorum.domain.events.event import ModelChanged, SessionResumed, SessionStarted
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.events.session import FolderOrigin
from quorum.domain.goal import parse_goal
from quorum.domain.instructions.custom_command import CustomCommand, parse_command
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import SessionChoice, SessionSummary, select_own_sessions
from quorum.errors import complain, mask_complaints
from quorum.infrastructure.bootstrap import build_session
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.container import Container
from quorum.infrastructure.mcp.server_credentials import ServerCredentials
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.infrastructure.session_inputs import SessionInputs, open_session
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.trust_decisions import TrustDecisions, open_trust_decisions
from quorum.settings import load
from quorum.tui.keys.slash_commands import PROMPT_COMMANDS, RESERVED_NAMES

if TYPE_CHECKING:
    from quorum.acp_agent.layer_question import LayerQuestion


class PlaceSettings(NamedTuple):
    """The settings of a folder, and what the MCP servers of a session in it get beside them."""

    loaded: LoadedSettings
    credentials: Mapping[str, ServerCredentials]


class OpenedRecord(NamedTuple):
    """What a session is composed of: its settings, what its MCP servers get beside them, its record."""

    loaded: LoadedSettings
    credentials: Mapping[str, ServerCredentials]
    record: SessionRecord


class SessionComposer:
    """Opens sessions side by side: what one of them learns to be a secret, none shows.

    What a project wants to be trusted with is not asked about before there is a session: its settings count as
    far as they are trusted already, as in a run without a person.
    """

    def __init__(self, options: StartOptions) -> None:
        self._options = options
        self._mask = SecretMask()
        self._trust: TrustDecisions = open_trust_decisions(os.environ)
        self._listed: Storage | None = None

    async def load_settings(self, place: SessionPlace, mode: Mode | None = None) -> PlaceSettings:
        """The settings of a session, with another mode where one is named. Raises ConfigError."""
        return await asyncio.to_thread(self._load, place, mode)

    async def open_record(
        self, root: Path, given: PlaceSettings, choice: SessionChoice, *, fork: bool = False
    ) -> OpenedRecord:
        """The record of a session in a folder. Raises ConfigError, LedgerError, and ProviderError where there
        is no model to ask."""
        loaded, credentials = given
        record = await asyncio.to_thread(open_session, loaded, root, choice, fork=fork)
        try:
            if record.in_use:
                raise LedgerError(record.in_use)
            await self._require_provider(loaded, _find_former_model(record))
        except BaseException:
            await record.release()
            raise
        return OpenedRecord(loaded, credentials, record)

    async def check_provider(self, root: Path) -> None:
        """Check that a session in a folder has a model to ask. Raises ProviderError, and ConfigError."""
        await self._require_provider((await self.load_settings(SessionPlace(root, (), (), None))).loaded)

    async def _require_provider(self, loaded: LoadedSettings, former: str = "") -> None:
        await require_provider(loaded, os.environ, KeyRing(self._mask.learn).get_key, former)

    def _load(self, place: SessionPlace, mode: Mode | None) -> PlaceSettings:
        options = self._options
        if mode is not None:
            options = replace(options, overrides={**options.overrides, "review.mode": mode.value})
        loaded = load(options, place.root)
        unread = explain_unread(place.offered)
        if not (place.servers or unread) or loaded.is_safe:
            return PlaceSettings(loaded, {})
        converted = convert_servers(place.servers, loaded.settings.mcp.servers)
        for name, given in converted.credentials.items():
            self._mask.learn_all(given.list_secrets(name))
        overrides = {**options.overrides, **converted.overrides}
        loaded = load(replace(options, overrides=overrides), place.root)
        warnings = (*loaded.warnings, *unread, *converted.notices)
        return PlaceSettings(replace(loaded, warnings=warnings), converted.credentials)

    async def compose(
        self,
        opened: OpenedRecord,
        root: Path,
        folders: Sequence[str] = (),
        *,
        approver: Approver,
        observer: Observer,
    ) -> tuple[AgentSession, tuple[str, ...]]:
        """The session of a record, announced, and sentences for the person. The record is released where that
        fails. `folders` are what the client adds to the workspace."""
        wanted = (
            *list_option_folders(self._options.add_dirs),
            *(WantedFolder(path=folder, origin=FolderOrigin.EDITOR) for folder in folders),
        )
        try:
            container = await asyncio.to_thread(self._build, opened, root, wanted, approver, observer)
            agent = container.agent()
            await agent.open()
        except BaseException:
            await opened.record.release()
            raise
        notices = (
            *container.record().notices,
            *opened.loaded.warnings,
            *container.saved_rules().warnings,
        )
        complain(notices)
        return agent, notices

    def _build(
        self,
        opened: OpenedRecord,
        root: Path,
        folders: Sequence[WantedFolder],
        approver: Approver,
        observer: Observer,
    ) -> Container:
        """Runs in a thread: most of what a session imports is imported here."""
        return build_session(
            SessionInputs(
                loaded=opened.loaded,
                root=root,
                approver=approver,
                observer=observer,
                record=opened.record,
                mask=self._mask,
                wanted_folders=folders,
                reserved_commands=RESERVED_NAMES,
                trust=self._trust,
                server_credentials=opened.credentials,
            ),
            mask_outputs=(mask_complaints,),
        )

    async def delete_session(self, session_id: str) -> None:
        """Remove a recorded session. Raises LedgerError, also where another process has it open."""
        storage = await asyncio.to_thread(self._open_storage)
        if (await storage.archive.prune(ids=[session_id])).spared:
            raise LedgerError(f"the session {session_id} is open in another process; close it there first")

    async def list_sessions(self) -> tuple[SessionSummary, ...]:
        """Every session that a person began, the one used last first. Raises ConfigError and LedgerError."""
        storage = await asyncio.to_thread(self._open_storage)
        return select_own_sessions(await storage.archive.list_sessions())

    def _open_storage(self) -> Storage:
        if self._listed is None:
            loaded = load(self._options, self._options.workdir or find_own_folder(), needs_project=False)
            self._listed = open_storage(loaded.settings.storage, os.environ)
        return self._listed

    async def close(self) -> None:
        """Let go of the list of sessions. Raises LedgerError."""
        if self._listed is not None:
            await asyncio.to_thread(self._listed.close)


def find_own_folder() -> Path:
    """The folder of the process; the root where that is gone, as a work tree that its editor has removed is."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")


def _find_former_model(record: SessionRecord) -> str:
    """The model that the session had, with which it continues where it can; empty for a new session."""
    chosen = (
        e.model for e in reversed(record.past) if isinstance(e, ModelChanged | SessionResumed | SessionStarted)
    )
    return next(chosen, "")


_TOKEN_STOPS = frozenset(
    {StopKind.MAX_TOKENS.value, SpendCap.TOKENS.value, SpendCap.TURN_TOKENS.value},
)
_INTERNAL_ERROR = -32603


def build_response(report: RunReport) -> PromptResponse:
    """The answer to a prompt; `_meta` holds the object of `quorum run --output json` and its exit code.

    Raises RequestError, with the same, where the provider failed.
    """
    ending = {"exit_code": report.exit_code, "report": convert_json(report.to_json())}
    if report.provider_failed and report.status is RunStatus.FAILED:
        raise RequestError(_INTERNAL_ERROR, report.error or "the provider failed", {"quorum": ending})
    usage = report.usage
    prompt_tokens = usage.input + usage.cache_read + usage.cache_write
    return PromptResponse(
        stop_reason=choose_stop_reason(report),
        usage=Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            total_tokens=prompt_tokens + usage.output,
            cached_read_tokens=usage.cache_read,
            cached_write_tokens=usage.cache_write,
            thought_tokens=usage.reasoning,
        ),
        field_meta={"quorum": ending},
    )


def choose_stop_reason(report: RunReport) -> StopReason:
    """The nearest of the protocol's reasons to stop. What it has no word for is said in a message."""
    match report.status:
        case RunStatus.INTERRUPTED:
            return "cancelled"
        case RunStatus.REFUSED:
            return "refusal"
        case RunStatus.LIMIT:
            return "max_tokens" if report.stop_reason in _TOKEN_STOPS else "max_turn_requests"
        case RunStatus.COMPLETED | RunStatus.NEEDS_APPROVAL | RunStatus.FAILED:
            return "end_turn"


NO_LAYER = "this session works in your folder itself; /stage keeps its changes apart"


class OwnCommand(NamedTuple):
    """A command of the program: its name, what it does, and what may follow it. One with `is_staged` is for
    sessions in a layer, or in none."""

    name: str
    does: str
    takes: str = ""
    is_staged: bool | None = None


OWN_COMMANDS = (
    OwnCommand("retry", "Continue a turn that failed, was interrupted or reached a limit, or an open review"),
    OwnCommand("compact", "Replace the conversation with a summary", "what to keep in view"),
    OwnCommand(
        "init", "Have the model look at the project and write or improve AGENTS.md", "what matters most"
    ),
    OwnCommand("goal", "Work until commands exit with 0; off takes the goal away", "text ! command"),
    OwnCommand("model", "Show or choose the model", "provider/model"),
    OwnCommand("skills", "List the skills that the model may load"),
    OwnCommand("agents", "List the agents to which the model may give tasks"),
    OwnCommand("stage", "Work in a layer over the folder, whose changes you review once", is_staged=False),
    OwnCommand("effects", "Review what waits in the layer", is_staged=True),
    OwnCommand("unstage", "Work in the folder itself again; what waits stays in the layer", is_staged=True),
)


def list_commands(custom: tuple[tuple[str, CustomCommand], ...], *, is_staged: bool) -> AvailableCommandsUpdate:
    """All that there are now, by the names to type."""
    return AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[*_list_own(is_staged=is_staged), *_list_custom(custom)],
    )


def _list_own(*, is_staged: bool) -> Iterator[AvailableCommand]:
    for command in OWN_COMMANDS:
        if command.is_staged not in (None, is_staged):
            continue
        hint = AvailableCommandInput(UnstructuredCommandInput(hint=command.takes)) if command.takes else None
        yield AvailableCommand(name=command.name, description=command.does, input=hint)


def _list_custom(commands: tuple[tuple[str, CustomCommand], ...]) -> Iterator[AvailableCommand]:
    for name, command in commands:
        does = command.problem or command.description or f"a command of {command.label}"
        hint = command.argument_hint or " ".join(command.parameters)
        takes = AvailableCommandInput(UnstructuredCommandInput(hint=show_line(hint))) if hint else None
        yield AvailableCommand(name=show_line(name), description=show_line(does), input=takes)


class SlashCommands:
    """Runs the program's own commands for one session."""

    def __init__(self, agent: AgentSession, effects: LayerQuestion | None) -> None:
        self._agent, self._effects = agent, effects

    async def run(self, prompt: str) -> RunReport | str | None:
        """What came of a command: the report of a turn, or a sentence. None where the prompt is none of them or
        one that the model reads.

        Raises CommandRefused for one of the app's that has no place here, and what the command itself raises.
        """
        typed = parse_command(prompt)
        if typed is None or typed.name not in RESERVED_NAMES - PROMPT_COMMANDS:
            return None
        match typed.name:
            case "retry":
                return await self._agent.run.retry()
            case "compact":
                return await self._agent.context.compact(typed.arguments)
            case "model":
                if typed.arguments:
                    await self._agent.models.choose(typed.arguments)
                return f"the model is {self._agent.models.current}"
            case "effects":
                if self._effects is None:
                    return NO_LAYER
                words = await self._effects.ask_again()
                return await self._agent.run.execute(words) if words else ""
            case "goal":
                return await self._pursue_goal(typed.arguments.strip())
            case "skills":
                return await self._describe_skills()
            case "agents":
                return await self._describe_agents()
            case name:
                here = ", ".join(f"/{each.name}" for each in OWN_COMMANDS)
                raise CommandRefused(f"/{name} is a command of the full-screen app; here there are {here}")

    async def _pursue_goal(self, text: str) -> RunReport | str:
        """Set a goal and work until it is reached, take it away, or tell how it stands."""
        goals = self._agent.require_goals()
        if text == "off":
            await goals.drop()
            return "the goal is taken away"
        if text:
            goal = parse_goal(text)
            await goals.set_goal(goal)
            return await self._agent.run.execute(goal.text)
        await goals.look_again()
        if (current := goals.goal) is None:
            return "no goal is set: /goal TEXT ! COMMAND works until the command exits with 0"
        return "\n\n".join("\n".join(map(show_line, lines)) for lines in current.paragraphs)

    async def _describe_skills(self) -> str:
        skills = await self._agent.skills.survey()
        if not skills:
            return "there are no skills"
        lines = (
            f"- {show_line(skill.name)}: {show_line(skill.description, 1000)}"
            + ("" if is_trusted else " (not trusted)")
            for skill, is_trusted in skills
        )
        return "skills:\n" + "\n".join(lines)

    async def _describe_agents(self) -> str:
        agents = await self._agent.agents.survey()
        if not agents:
            return "there are no agents"
        lines = (
            f"- {show_line(agent.name)}: {show_line(agent.problem or agent.description, 1000)} "
            f"({show_line(agent.label)}{'' if is_trusted else ', not trusted'})"
            for agent, is_trusted in agents
        )
        return "agents:\n" + "\n".join(lines)


_INVALID_REQUEST, _INVALID_PARAMS, _CLIENT_SESSION_INTERNAL_ERROR = -32600, -32602, -32603
_CLOSING_SECS = 20.0
_LISTING_SECS = 2.0  # some clients know only the models of the answer that opens a session
_PENDING = "a review is still open in this session: /retry asks again; any other prompt continues without it"


class ClientSession:
    """A session and the way to its client. Nothing here decides: it passes on prompts, questions and events."""

    def __init__(
        self,
        agent: AgentSession,
        place: SessionPlace,
        *,
        config: ConfigOptions,
        feed: UpdateFeed,
        outbox: Outbox,
        approver: ClientApprover,
        prompts: PromptBuilder,
        effects: LayerQuestion | None,
    ) -> None:
        self.agent, self.place = agent, place
        self.config = config
        self.feed = feed
        self.outbox = outbox
        self._approver = approver
        self._prompts = prompts
        self._effects = effects
        self._commands = SlashCommands(agent, effects)
        self._listed: AvailableCommandsUpdate | None = None
        self._turn: asyncio.Task[PromptResponse] | None = None
        self._is_cancelling = False
        self._cancels = 0
        self._last_report: RunReport | None = None
        self._model_search: asyncio.Task[None] | None = None

    @property
    def session_id(self) -> str:
        return self.agent.session_id

    @property
    def is_asking(self) -> bool:
        """Whether a review waits for the client's answer."""
        return self._approver.is_asking

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is being answered."""
        return self._turn is not None

    def crosses_layer(self, mode: str) -> bool:
        """Whether the session goes into a layer for a mode."""
        return mode == Mode.STAGED and self.agent.effects is None

    async def choose(self, option: str, value: str) -> None:
        """Set a config option, and tell the client what else that changed. Raises ModeRefused and ProviderError
        for what cannot be had, and LedgerError."""
        await self.config.choose(option, value)
        await self.outbox.flush()

    def release(self) -> None:
        """From now on the client knows the session, and gets its updates."""
        self.outbox.open()

    def list_options(self) -> list[ConfigOption]:
        """The config options with their values."""
        return self.config.list()

    def list_choices(self) -> dict[str, Any]:
        """What the answer to its opening says can be chosen: modes, and the config options with them."""
        return {"modes": self.config.modes, "config_options": self.config.list()}

    async def greet(self, notices: Sequence[str]) -> None:
        """Tell the client what there is to know before the first prompt."""
        for notice in notices:
            self.outbox.put(build_notice(notice))
        if self.agent.run.has_pending:
            self.outbox.put(build_notice(_PENDING))
        await self._list_commands()
        self._model_search = asyncio.create_task(self._offer_models(), name="acp-models")
        await asyncio.wait({self._model_search}, timeout=_LISTING_SECS)

    async def _offer_models(self) -> None:
        if (update := await self.config.find_models()) is not None:
            self.outbox.put(update)

    async def answer(self, blocks: Sequence[PromptBlock]) -> PromptResponse:
        """Answer a prompt. One that comes while the last is being cancelled waits for its end.

        Raises RequestError where another prompt is being answered, for a prompt that cannot be sent, and where
        the provider failed.
        """
        if self._turn is not None and not self._is_cancelling:
            raise RequestError(
                _INVALID_REQUEST, "a prompt is being answered in this session; wait for its end, or cancel it"
            )
        cancels = self._cancels
        while self._turn is not None:
            await asyncio.wait({self._turn})
        if self._cancels != cancels:  # cancelled while it waited
            return PromptResponse(stop_reason="cancelled")
        self._is_cancelling = False
        turn = self._turn = asyncio.create_task(self._carry(blocks), name="acp-turn")
        turn.add_done_callback(self._forget)
        await asyncio.wait({turn})  # where this handler is cancelled, the turn is not
        if turn.cancelled():  # before the agent took its first step
            return PromptResponse(stop_reason="cancelled")
        return turn.result()

    async def cancel(self) -> None:
        """Stop the prompt that is being answered, if one is: every call of it gets its result."""
        self._cancels += 1
        if self._turn is not None and not self._is_cancelling:
            self._is_cancelling = True
            self._turn.cancel()

    async def close(self) -> None:
        """Stop what runs, and end the session. Raises LedgerError where its end cannot be recorded."""
        if self._model_search is not None:
            self._model_search.cancel()
        if (turn := self._turn) is not None:
            await self.cancel()
            await asyncio.wait({turn}, timeout=_CLOSING_SECS)
        if self._last_report is not None:
            await self.agent.close(self._last_report)
        await self.outbox.flush()
        await self.agent.aclose()

    async def abandon(self) -> None:
        """Let go of the record, and leave a review that waits as it is, so that it can be answered elsewhere.

        The process is to end at once: its turn does not.
        """
        with suppress(LedgerError):
            await self.agent.record.release()

    # ---------------------------------------------------------------- a turn

    async def _carry(self, blocks: Sequence[PromptBlock]) -> PromptResponse:
        try:
            prompt = await self._prompts.build(blocks)
            if not prompt.strip():
                raise RequestError(_INVALID_PARAMS, "the prompt is empty; write what to do")
            done = await self._commands.run(prompt)
            if done is None:
                done = await self.agent.run.execute(prompt)
        except (AttachmentError, CommandRefused, ConversationError, GoalRefused) as error:
            raise RequestError(_INVALID_PARAMS, str(error)) from error
        except QuorumError as error:
            raise RequestError(_CLIENT_SESSION_INTERNAL_ERROR, str(error)) from error
        if isinstance(done, str):
            if done:
                self.outbox.put(build_message(done))
            await self.outbox.flush()
            return PromptResponse(stop_reason="end_turn")
        self._last_report = done
        while self._effects is not None and (words := await self._effects.ask_at_end()):
            self._last_report = done = await self.agent.run.execute(words)
        self._show_usage()
        await self._list_commands()
        await self.outbox.flush()
        return build_response(done)

    def _forget(self, turn: asyncio.Task[PromptResponse]) -> None:
        if self._turn is turn:
            self._turn = None
        if not turn.cancelled():
            turn.exception()  # it is raised where it is waited for, or nobody is left to read it

    def _show_usage(self) -> None:
        used, window = self.agent.context.use
        if window:
            cost = self.feed.view.status.book.total.priced_usd
            amount = None if cost is None else Cost(amount=float(cost), currency="USD")
            self.outbox.put(
                UsageUpdate(session_update="usage_update", used=min(used, window), size=window, cost=amount)
            )

    async def _list_commands(self) -> None:
        """Tell the client of the slash commands where they are others than it knows of."""
        try:
            await self.agent.custom_commands.refresh()
        except (QuorumError, OSError) as error:
            complain([f"the slash commands cannot be listed: {error}"])
        known, is_staged = self.agent.custom_commands.known, self._effects is not None
        listed = list_commands(known, is_staged=is_staged)
        if listed != self._listed:
            self._listed = listed
            self.outbox.put(listed)
