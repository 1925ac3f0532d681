"""The events of a session as updates for the client: those that happen, and those recorded."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from uuid import uuid4

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ContentToolCallContent,
    CurrentModeUpdate,
    ImageContentBlock,
    PlanEntry,
    PlanEntryStatus,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from quorum.acp_agent.config_options import ConfigOptions
from quorum.acp_agent.standard_io import SessionUpdate
from quorum.acp_agent.tool_calls import (
    build_call_id,
    find_call,
    identify_call,
    report_progress,
    show_line,
    show_text,
    start_call,
    update_call,
)
from quorum.application.panel.code_review import render_review_result
from quorum.application.ports.storage import ContentStore
from quorum.application.session.session_record import SessionRecord
from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    Notice,
    NoticeKind,
    PanelEntry,
    Phase,
    PromptEntry,
)
from quorum.application.view.present import Step, StepStatus
from quorum.application.view.session_view import SessionView
from quorum.application.view.wording import PROCESS_ENDED
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool_traits import OutputKind, find_traits
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.attachment import Image
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import ReasoningBlock
from quorum.domain.errors import LedgerError
from quorum.domain.events import event as ev
from quorum.domain.events.event import event_from_json

_FOLLOWED = frozenset(
    event.type
    for event in (
        ev.ReviewRequested,
        ev.ReviewDecided,
        ev.CallStarted,
        ev.CallFinished,
        ev.EffectsObserved,
    )
)


class SubagentCalls:
    """Follows the calls of subagents. Of those that nobody is asked about, the row of the task tells enough.

    `cwd` is what relative paths start at.
    """

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._views: dict[str, SessionView] = {}
        self._open: dict[str, dict[ToolExecutionContext, None]] = {}

    def map_event(self, event: ev.SubagentProgressed | ev.SubagentFinished) -> Iterator[SessionUpdate]:
        """What the event changes for the client. With its task, every call has ended."""
        match event:
            case ev.SubagentProgressed() if event.event.get("type") in _FOLLOWED:
                yield from self._follow(event.subagent_id, event_from_json(event.event))
            case ev.SubagentProgressed():
                return
            case ev.SubagentFinished():
                self._views.pop(event.subagent_id, None)
                for context in self._open.pop(event.subagent_id, {}):
                    yield ToolCallProgress(
                        session_update="tool_call_update", tool_call_id=identify_call(context), status="failed"
                    )

    def _follow(self, subagent_id: str, event: ev.Event) -> Iterator[SessionUpdate]:
        match event:
            case ev.ReviewRequested():
                known = self._open.setdefault(subagent_id, {})
                is_new = event.context not in known
                known[event.context] = None
            case ev.ReviewDecided() | ev.CallStarted() | ev.CallFinished() | ev.EffectsObserved():
                is_new = False
                if event.context not in self._open.get(subagent_id, {}):
                    return
            case _:
                return
        view = self._views.setdefault(subagent_id, SessionView())
        view.apply(event)
        if (call := find_call(view.entries, event.context)) is not None:
            show = start_call if is_new else update_call
            yield show(identify_call(event.context), call, self._cwd)
        if isinstance(event, ev.CallFinished):
            self._open[subagent_id].pop(event.context)


_MOST_IMAGE_BYTES = 5_000_000
"""The images of one call may have so many: some clients read no line that is longer than 10 MB."""


class CallImages:
    """The images that the results of calls name, which come with a message after them."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolExecutionContext] = {}
        self._images: dict[str, list[Image]] = {}

    def find_call(self, event: ev.Event) -> ToolExecutionContext | None:
        """The call whose images an event brings."""
        match event:
            case ev.BatchPlanned():
                self._calls.update({lane.context.call_id: lane.context for lane in event.lanes})
            case ev.MessageAdded(message=UserMessage(images=images, of_call=call)) if images:
                if (context := self._calls.get(call)) is not None:
                    self._images.setdefault(identify_call(context), []).extend(images)
                return context
            case _:
                pass
        return None

    async def add_to(self, update: SessionUpdate, contents: ContentStore) -> SessionUpdate:
        """The update with the images of its call, as far as they are kept and there is room; the content of an
        update replaces what there was."""
        if not isinstance(update, ToolCallStart | ToolCallProgress) or update.content is None:
            return update
        shown, room = [*update.content], _MOST_IMAGE_BYTES
        for image in self._images.get(update.tool_call_id, ()):
            if image.size_bytes > room:
                continue
            room -= image.size_bytes
            with suppress(LedgerError):
                data = b64encode(await contents.get(image.sha256)).decode()
                block = ImageContentBlock(type="image", data=data, mime_type=image.media_type)
                shown.append(ContentToolCallContent(type="content", content=block))
        return update.model_copy(update={"content": shown})


_TITLE_LETTERS = 80


class UpdateFeed:
    """Implements `Observer`: what a session's events change on its view goes to `put`.

    The view is the one that all front ends share, so that a notice reads here as it does in the app. `cwd` is
    what relative paths start at.
    """

    def __init__(self, cwd: str, put: Callable[[SessionUpdate], None]) -> None:
        self.view = SessionView()
        self._cwd = cwd
        self._put = put
        self._streamed = self._answer_id = self._thought_id = ""
        self._thought = False
        self._plan: tuple[Step, ...] = ()
        self._has_title = False
        self._subagent_calls = SubagentCalls(cwd)
        self.images = CallImages()
        self._config: ConfigOptions | None = None

    def follow_config(self, config: ConfigOptions) -> None:
        """Tell the client too when another value of these options is chosen."""
        self._config = config

    def notify(self, event: ev.Event) -> None:
        """Pass on what an event changes."""
        entries = self.view.entries
        known = len(entries)
        self.view.apply(event)
        for update in self._map_event(event):
            self._put(update)
        if (brought_by := self.images.find_call(event)) is not None:
            self._show_images(brought_by)
        if self._config is not None and (changed := self._config.map_event(event)) is not None:
            self._put(changed)
        for entry in entries[known:]:
            if isinstance(entry, Notice):
                self._put(build_notice(entry.text, entry.kind))

    def _show_images(self, context: ToolExecutionContext) -> None:
        if (call := self._find_call(context)) is not None:
            self._put(update_call(identify_call(context), call, self._cwd))

    def replay(self, record: SessionRecord) -> Iterator[SessionUpdate]:
        """All that is recorded, oldest first, as updates, but for turns that were taken back."""
        self.view.begin_past()
        for event in record.past:
            self.view.apply(event)
            self.images.find_call(event)
        waiting = frozenset(self._find_waiting_calls())
        self.view.end_past(PROCESS_ENDED)
        for entry in self.view.entries:
            if not entry.undone:
                yield from self._list_entry_updates(entry, waiting)
        yield from self._tell_plan()
        self.take_title(record)

    def take_title(self, record: SessionRecord) -> None:
        """A session that is continued, or copied, keeps the title that its first prompt gave it."""
        self._has_title = any(isinstance(event, ev.TurnStarted) and event.prompt for event in record.past)

    def _find_waiting_calls(self) -> Iterator[str]:
        """The calls of a batch in which a review is open: the person may still be asked about them."""
        for entry in self.view.entries:
            if isinstance(entry, Batch) and any(call.phase is Phase.REVIEWED for call in entry.calls):
                for call in entry.calls:
                    if call.phase in (Phase.QUEUED, Phase.REVIEWED):
                        yield build_call_id(entry.batch_id or "", call.index)

    # ---------------------------------------------------------------- what happens

    def _map_event(self, event: ev.Event) -> Iterator[SessionUpdate]:
        match event:
            case ev.TurnStarted():
                self._begin_answer()
                if event.prompt and not self._has_title:
                    self._has_title = True
                    title = show_line(event.prompt.strip(), _TITLE_LETTERS)
                    yield SessionInfoUpdate(session_update="session_info_update", title=title)
            case ev.TextDelta():
                self._streamed += event.text
                yield build_message(show_text(event.text), self._answer_id)
            case ev.ReasoningDelta():
                self._thought = True
                yield build_thought(show_text(event.text), self._thought_id)
            case ev.RequestRepeated() | ev.AnswerBrokeOff():
                self._begin_answer()
            case ev.ResponseCompleted(is_notice=False):
                yield from self._map_rest(event)
            case ev.StateMerged() if "plan" in event.changed:
                yield from self._tell_plan()
            case ev.CallFinished(outcome=Outcome.OK) if find_traits(event.tool).output is OutputKind.PLAN:
                yield from self._map_call_event(event)
                yield from self._tell_plan()  # the state has it when the whole batch has ended
            case ev.ModeChanged():
                yield CurrentModeUpdate(session_update="current_mode_update", current_mode_id=event.mode.value)
            case ev.ChangeReviewed():
                yield build_notice(render_review_result(event.result))
            case ev.SubagentProgressed() | ev.SubagentFinished():
                yield from self._subagent_calls.map_event(event)
            case _:
                yield from self._map_call_event(event)

    def _tell_plan(self) -> Iterator[SessionUpdate]:
        if self.view.present.plan != self._plan:
            self._plan = self.view.present.plan
            yield build_plan(self._plan)

    def _map_call_event(self, event: ev.Event) -> Iterator[SessionUpdate]:
        match event:
            case ev.BatchPlanned():
                for lane in event.lanes:
                    if (call := self._find_call(lane.context)) is not None:
                        yield start_call(identify_call(lane.context), call, self._cwd)
            case ev.CallProgressed():
                if (call := self._find_call(event.context)) is not None:
                    yield report_progress(identify_call(event.context), call, self._cwd)
            case (
                ev.ReviewRequested()
                | ev.ReviewDecided()
                | ev.CallStarted()
                | ev.CallFinished()
                | ev.EffectsObserved()
            ):
                if (call := self._find_call(event.context)) is not None:
                    yield update_call(identify_call(event.context), call, self._cwd)
            case _:
                return

    def _map_rest(self, event: ev.ResponseCompleted) -> Iterator[SessionUpdate]:
        """What of the whole answer did not stream."""
        reasoning = [b.text for b in event.response.content if isinstance(b, ReasoningBlock) and b.text]
        if reasoning and not self._thought:
            yield build_thought(show_text("\n\n".join(reasoning)), self._thought_id)
        text = event.response.text_content()
        if text.startswith(self._streamed) and (rest := text[len(self._streamed) :]):
            yield build_message(show_text(rest), self._answer_id)
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._streamed, self._thought = "", False
        self._answer_id, self._thought_id = _create_id(), _create_id()

    def _find_call(self, context: ToolExecutionContext) -> Call | None:
        return find_call(self.view.entries, context)

    # ---------------------------------------------------------------- what is recorded

    def _list_entry_updates(self, entry: Entry, waiting: Container[str]) -> Iterator[SessionUpdate]:
        match entry:
            case PromptEntry():
                block = TextContentBlock(type="text", text=show_text(entry.text))
                yield UserMessageChunk(
                    session_update="user_message_chunk", content=block, message_id=_create_id()
                )
            case AnswerEntry():
                if entry.reasoning:
                    yield build_thought(show_text("".join(entry.reasoning)))
                if entry.text:
                    yield build_message(show_text(entry.text))
            case Batch():
                for call in entry.calls:
                    call_id = build_call_id(entry.batch_id or "", call.index)
                    update = start_call(call_id, call, self._cwd)
                    yield update.model_copy(update={"status": "pending"}) if call_id in waiting else update
            case PanelEntry(result=ReviewResult() as result):
                yield build_notice(render_review_result(result))
            case Notice():
                yield build_notice(entry.text, entry.kind)
            case _:
                return


def build_message(text: str, message_id: str = "") -> AgentMessageChunk:
    """A piece of the message with this id; without one, a message of its own."""
    return AgentMessageChunk(
        session_update="agent_message_chunk",
        content=TextContentBlock(type="text", text=text),
        message_id=message_id or _create_id(),
    )


def build_thought(text: str, message_id: str = "") -> AgentThoughtChunk:
    """A piece of what a client folds away: thoughts, and remarks of the program."""
    return AgentThoughtChunk(
        session_update="agent_thought_chunk",
        content=TextContentBlock(type="text", text=text),
        message_id=message_id or _create_id(),
    )


def build_notice(text: str, kind: NoticeKind = NoticeKind.WARNING) -> AgentMessageChunk | AgentThoughtChunk:
    """A sentence of the program itself, on lines of its own and not to be taken for the model's; what is no
    warning may be folded away."""
    quoted = "\n".join(f"> {line}" for line in f"quorum: {show_text(text)}".split("\n"))
    is_info = kind is NoticeKind.INFO
    notice = build_thought(f"\n{show_text(text)}\n") if is_info else build_message(f"\n\n{quoted}\n\n")
    notice.field_meta = {"quorum": {"notice": kind.value}}
    return notice


def _create_id() -> str:
    return str(uuid4())


def build_plan(plan: tuple[Step, ...]) -> AgentPlanUpdate:
    entries = [
        PlanEntry(content=_name_step(step), priority="medium", status=_convert_status(step.status))
        for step in plan
    ]
    return AgentPlanUpdate(session_update="plan", entries=entries)


def _name_step(step: Step) -> str:
    """The protocol knows of no step that failed: the text says so."""
    is_stuck = step.status in (StepStatus.FAILED, StepStatus.BLOCKED, StepStatus.UNKNOWN)
    return show_line(f"{step.text} ({step.status.value})" if is_stuck else step.text, 1000)


def _convert_status(status: StepStatus) -> PlanEntryStatus:
    match status:
        case StepStatus.PENDING | StepStatus.FAILED | StepStatus.BLOCKED | StepStatus.UNKNOWN:
            return "pending"
        case StepStatus.IN_PROGRESS:
            return "in_progress"
        case StepStatus.DONE:
            return "completed"
