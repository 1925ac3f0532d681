"""A run without a screen: the answer on stdout, everything else on stderr, the ending in the exit code."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import select
import stat
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, assert_never

from quorum.application.session.agent_session import AgentSession
from quorum.command_line.options import OutputFormat
from quorum.domain.calls.job import describe_job_end
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError, ConversationError, StagingError
from quorum.domain.events.event import (
    AgentConnected,
    AgentPlanUpdated,
    AnswerDefended,
    AnswerRevised,
    CallFinished,
    CallStarted,
    ChangeReviewed,
    ChecksApproved,
    DiagnosticsReported,
    EffectsVoted,
    ErrorOccurred,
    Event,
    GoalChecked,
    GoalSet,
    HookRan,
    InstructionsLoaded,
    JobEnded,
    JobStarted,
    LayerWaits,
    MessageAdded,
    NoticeGiven,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
    PlanProposed,
    PromptProgressed,
    RetryScheduled,
    ReviewDecided,
    ReviewRequested,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    SubagentProgressed,
    TurnFinished,
    TurnStarted,
    UnaskedCallReported,
)
from quorum.domain.events.report import EFFECTS_WAIT, RunReport, RunStatus, describe_unknown_stop
from quorum.domain.panel.panel_answer import PanelForm
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.review.person_question import (
    ASK_PERSON,
    PersonQuestion,
    find_question,
    render_question,
)
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.amounts import format_duration
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError
from quorum.headless.goal import GoalReport
from quorum.headless.panel_report import PanelReport
from quorum.standard_streams import OutputLost

if TYPE_CHECKING:
    from quorum.infrastructure.tools.answer_schema import AnswerSchema

_UNANSWERED = DecisionLabel.NEEDS_APPROVAL


class PlanReport:
    """Follows the events of a run. It stays empty unless a plan was made that nobody could approve."""

    def __init__(self) -> None:
        self._proposed: PlanProposed | None = None

    def follow(self, event: Event) -> None:
        """Take an event in."""
        if isinstance(event, PlanProposed):
            self._proposed = event

    @property
    def text(self) -> str:
        """The plan as a Markdown document; empty where there is none."""
        return "" if self._proposed is None else render_plan_text(self._proposed.plan).rstrip("\n")

    def to_json(self) -> JsonObject:
        """`plan`, and `digest` in it; empty as above."""
        if self._proposed is None:
            return {}
        return {"plan": {**self._proposed.plan.to_json(), "digest": self._proposed.digest}}


class QuestionReport:
    """Follows the events of a run. It stays empty unless a question to the person has no answer."""

    def __init__(self) -> None:
        self._open: dict[str, PersonQuestion] = {}

    def follow(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case ReviewRequested(packet=packet, digest=digest):
                if (question := find_question(packet.call)) is not None:
                    self._open[digest] = question
            case ReviewDecided(decision=decision, digest=digest) if decision is not _UNANSWERED:
                self._open.pop(digest, None)
            case TurnStarted():
                self._open.clear()
            case _:
                return

    @property
    def digests(self) -> Collection[str]:
        """Those of the packets of the questions."""
        return self._open.keys()

    @property
    def text(self) -> str:
        """The questions with their options; empty where there is none."""
        return "\n\n".join(map(render_question, self._open.values()))

    def to_json(self) -> JsonObject:
        """`questions`, each with the digest of its packet; empty as above."""
        if not self._open:
            return {}
        return {
            "questions": [
                {"digest": digest, **struct_to_json(question)} for digest, question in self._open.items()
            ]
        }


class StagedReport:
    """Follows the events of a run. It stays empty unless effects wait in a layer at its end."""

    def __init__(self) -> None:
        self._waits: LayerWaits | None = None
        self._votes = ""
        self._packet: JsonObject = {}

    async def read(self, agent: AgentSession) -> None:
        """Take in the effects themselves, if any wait. Raises StagingError."""
        if self._waits is None or agent.effects is None:
            return
        from quorum.application.export.effects_report import encode_packet

        packet = await agent.effects.read_noted()
        self._packet = encode_packet(agent.effects.layer_id, packet, agent.mask.mask_text)

    def follow(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case TurnStarted():
                self._waits, self._votes = None, ""
            case EffectsVoted():
                self._votes = f"; the reviewers: {event.votes.count}"
            case LayerWaits():
                self._waits = event
            case _:
                return

    @property
    def sentence(self) -> str:
        """What waits, and how it is reviewed; empty where nothing does."""
        if self._waits is None:
            return ""
        from quorum.application.program_lookup import find_own_command

        shown_by = f"{find_own_command()} staged show {self._waits.layer}"
        return f"{self._waits.sentence}{self._votes}; {shown_by}"

    def to_json(self) -> JsonObject:
        """`staged`, as `quorum staged show --json` prints it; empty as above."""
        return {"staged": self._packet} if self._waits is not None and self._packet else {}


class FinalReviewReport:
    """Follows the events of a run. It stays empty unless a plan was carried out and its result reviewed."""

    def __init__(self) -> None:
        self._has_tools = False
        self._models: dict[str, str] = {}
        self._result: ReviewResult | None = None

    def follow_past(self, records: Iterable[LedgerRecord]) -> None:
        """Take in what the session did before: a turn that was killed after its review ends with that."""
        for record in records:
            if isinstance(record.event, TurnFinished):
                self._result = None
            elif record.event is not None:
                self.follow(record.event)

    def follow(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case SessionStarted(form=form):
                self._has_tools = form is SessionKind.AGENT
            case PanelStarted(form=PanelForm.REVIEW):
                self._models = {each.label: each.model for each in event.participants}
            case ChangeReviewed() if self._has_tools:
                self._result = event.result
            case _:
                return

    @property
    def text(self) -> str:
        """The review as Markdown; empty where there is none."""
        if self._result is None:
            return ""
        from quorum.application.panel.code_review import render_review_result

        return render_review_result(self._result)

    def to_json(self) -> JsonObject:
        """`final_review`, with the fields of the record of a code review; empty as above."""
        if self._result is None:
            return {}
        from quorum.application.export.review_json import render_result_fields

        return {"final_review": render_result_fields(self._result, self._models)}


# Characters that JSON may carry raw but a terminal would act on: C1 controls, format and bidi characters,
# line separators. Written as escapes they are the same JSON.
_UNSAFE = "[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"


class Unobserved:
    """Implements `Observer` for a session that is only looked at."""

    def notify(self, event: Event) -> None:
        """Ignore it."""


class HeadlessPrinter:
    """Observes a run and prints what the chosen output asks for."""

    def __init__(
        self, output: OutputFormat, *, quiet: bool, verbose: bool, schema: AnswerSchema | None = None
    ) -> None:
        self._output = output
        self._schema = schema
        self._quiet = quiet
        self._verbose = verbose
        self._report: RunReport | None = None
        self._plan = PlanReport()
        self._questions = QuestionReport()
        self._final_review = FinalReviewReport()
        self._staged = StagedReport()
        self._goal = GoalReport()
        self._panels = PanelReport()
        self._percent_told = 0
        self._last_error = ""
        self._on_lost: Callable[[], object] = lambda: None
        self.lost: OutputLost | None = None

    def listen(self, on_lost: Callable[[], object]) -> None:
        """Call this once standard output takes no more."""
        self._on_lost = on_lost
        if self.lost is not None:
            on_lost()

    def lose(self, lost: OutputLost) -> None:
        """Standard output takes no more."""
        if self.lost is None:
            self.lost = lost
            self._on_lost()

    def notify(self, event: Event) -> None:
        """Print the event as a line of JSON, or what of it belongs on stderr."""
        self._plan.follow(event)
        self._questions.follow(event)
        self._panels.follow(event)
        self._final_review.follow(event)
        self._staged.follow(event)
        self._goal.follow(event)
        if isinstance(event, SessionFinished):
            self._report = event.report
        if self._output == "stream-json":
            self._print(render_json_line(self._render_event(event)))
        if isinstance(event, MessageAdded) and isinstance(event.message, UserMessage) and not self._quiet:
            for file in event.message.files:
                _tell(f"· {'attached ' if file.is_attached else ''}{make_printable(file.label)}")
        self._say(event)

    def follow_past(self, records: Sequence[LedgerRecord]) -> None:
        """Take in what the session did before: a panel or a review may be continued."""
        self._panels.follow_past(records)
        self._final_review.follow_past(records)
        self._goal.follow_past(records)

    def _tell_reading(self, percent: int) -> None:
        """Say how far the server has read the prompt, at each quarter of it but the last."""
        if percent < self._percent_told:  # the next prompt
            self._percent_told = 0
        if percent < 100 and percent // 25 > self._percent_told // 25:
            _tell(f"· reading the prompt {percent} %")
        self._percent_told = percent

    def _say(self, event: Event) -> None:
        match event:
            case ErrorOccurred(message=message):
                self._last_error = message
                _tell(f"quorum: {make_printable(message)}")
            case HookRan(answer="error", hook=hook, point=point, reason=reason) if not self._quiet:
                _tell(
                    f"quorum: the hook {make_printable(hook)} failed at {point}: {make_printable(reason or '')}"
                )
            case DiagnosticsReported(failure=failure, new=new) if failure is not None or (
                new and not self._quiet
            ):
                _tell(f"quorum: {make_printable(event.sentence)}")
            case GoalSet() | ChecksApproved() | GoalChecked() | NoticeGiven() if not self._quiet:
                _tell(f"quorum: {make_printable(event.sentence, newlines=False)}")
            case _ if event.is_warning and not self._quiet:
                _tell(f"quorum: {make_printable(event.sentence)}")
            case RetryScheduled(reason=reason, delay_secs=delay) if not self._quiet:
                _tell(f"quorum: {make_printable(reason)}; trying again in {delay:.0f} s")
            case PromptProgressed() if not self._quiet:
                self._tell_reading(event.percent)
            case CallStarted() if self._verbose:
                arguments = make_printable(json.dumps(event.arguments, ensure_ascii=False))
                _tell(f"· {make_printable(event.tool)} {arguments}")
            case CallFinished() if not self._quiet:
                _tell(
                    f"· {make_printable(event.tool)} {event.outcome.value}"
                    f" ({format_duration(event.duration_secs)}){_render_detail(event)}"
                )
            case _:
                self._say_of_session(event)

    def _say_of_session(self, event: Event) -> None:
        match event:
            case SessionResumed(told=notices) if not self._quiet:
                for sentence in notices:
                    _tell(f"quorum: {make_printable(sentence)}")
            case InstructionsLoaded(notices=notices):
                for notice in notices:
                    _tell(f"quorum: {make_printable(notice)}")
                if self._verbose and event.files:
                    _tell(f"quorum: {make_printable(event.description)}")
            case UnaskedCallReported(only_looks=True) if not self._verbose:
                return
            case AgentPlanUpdated() | UnaskedCallReported() | JobStarted() | JobEnded() if not self._quiet:
                _tell(_render_line(event))
            case ObjectionsRaised() | AnswerDefended() | ObjectionsRuled() | AnswerRevised() if not self._quiet:
                from quorum.application.view.wording import describe_debate_step

                _tell(f"· {make_printable(describe_debate_step(event))}")
            case PanelStarted() | PanelResumed() | PanelAnswered() | PanelReviewed() | PanelConcluded() if (
                not self._quiet
            ):
                from quorum.application.view.wording import describe_panel_step

                if sentence := describe_panel_step(event):
                    _tell(f"· {make_printable(sentence)}")
            case SessionStarted() | AgentConnected() if self._verbose:
                said = event.sentence or f"{event.model}, mode {event.mode}"
                _tell(f"quorum: {make_printable(said)}")
            case _:
                return

    def tell_unsent(self, count: int) -> None:
        """Say that prompts wait in the session. They are not sent without the person looking at them."""
        if count and not self._quiet:
            wait = (
                "1 prompt that was not sent waits" if count == 1 else f"{count} prompts that were not sent wait"
            )
            from quorum.application.program_lookup import find_own_command

            _tell(f"quorum: {wait} in this session; {find_own_command()} --continue shows them to edit")

    def _print_text(self, report: RunReport) -> None:
        if self._fits_schema(report):
            self._print(render_json_line(self._answer_value(report)))
        elif report.text:
            self._print(_answer(report.text))
        if self._plan.text:
            self._print(_answer(self._plan.text))
        if self._questions.text:
            self._print(_answer(self._questions.text))
            self._tell_reply_command()
        if self._final_review.text:
            self._print(_answer(self._final_review.text))
        if (legend := self._panels.legend) and not self._quiet:
            _tell(f"quorum: {make_printable(legend)}")
        if (ending := _render_ending(report, self._last_error)) and not self._quiet:
            _tell(f"quorum: {ending}")
        if self._verbose:
            _tell(f"quorum: {_describe_usage(report)}")

    def _tell_reply_command(self) -> None:
        if not self._quiet:
            from quorum.application.program_lookup import find_own_command

            _tell(
                f'quorum: the model asks: {find_own_command()} run --continue "REPLY" goes on with your reply'
            )

    async def read_staged(self, agent: AgentSession) -> None:
        """Read what waits in a layer, before the session ends. What cannot be read is reported."""
        try:
            await self._staged.read(agent)
        except StagingError as error:
            _tell(f"quorum: {make_printable(str(error))}")

    def _print(self, line: str) -> None:
        if self.lost is None:
            try:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
            except OutputLost as lost:
                self.lose(lost)

    def conclude(self) -> None:
        """Print the ending as it was announced: secrets are masked in events. `stream-json` has done so."""
        report = self._report
        assert report is not None
        if self.lost is not None:  # the reason is printed in its place
            return
        if (waiting := self._staged.sentence) and not self._quiet:
            _tell(f"quorum: {make_printable(waiting)}")
        match self._output:
            case "text":
                self._print_text(report)
            case "json":
                self._print(render_json_line({**report.to_json(), **self._render_value(report), **self._more}))
            case "stream-json":
                return
            case _:
                assert_never(self._output)

    @property
    def questions(self) -> Collection[str]:
        """The digests of the questions to the person that have no answer."""
        return self._questions.digests

    def leave(self, report: RunReport, digests: Sequence[str]) -> None:
        """Print that a run ends with reviews of these digests open. `stream-json` has printed the reviews."""
        if self._output == "json":
            waiting = {"waiting": list(digests), **self._questions.to_json(), **self._staged.to_json()}
            self._print(render_json_line({**report.to_json(), **waiting}))
        elif self._output == "text" and (said := report.text or self._questions.text):
            self._print(_answer(said))

    def _render_event(self, event: Event) -> JsonObject:
        """The last line is the object of `--output json` with a type in front."""
        shown = event.to_json()
        if isinstance(event, SubagentProgressed):
            return {**shown, "event": _flatten_report(event.event)}
        if not isinstance(event, SessionFinished):
            return shown
        report = {**event.report.to_json(), **self._render_value(event.report)}
        return {"type": shown["type"], "v": shown["v"], **report, **self._more}

    def _fits_schema(self, report: RunReport) -> bool:
        return self._schema is not None and not self._schema.find_problem(report.text)

    def _render_value(self, report: RunReport) -> JsonObject:
        """`structured_output`, the answer as the value that the schema asks for; empty where it is none."""
        return {"structured_output": self._answer_value(report)} if self._fits_schema(report) else {}

    @staticmethod
    def _answer_value(report: RunReport) -> JsonValue:
        from quorum.infrastructure.tools.answer_schema import parse_answer

        return parse_answer(report.text)

    @property
    def _more(self) -> JsonObject:
        reports = (self._panels, self._plan, self._questions, self._final_review, self._staged, self._goal)
        return {key: value for report in reports for key, value in report.to_json().items()}


async def prepare_nothing() -> None:
    """Send the prompt as it is."""


async def run_headless(
    agent: AgentSession,
    prompt: str,
    printer: HeadlessPrinter,
    listen: Callable[[Callable[[], object]], object],
    *,
    prepare: Callable[[], Awaitable[None]] = prepare_nothing,
) -> int:
    """Answer one prompt, or continue what is unfinished without one. Returns the exit code of its ending.

    `prepare` is awaited before the prompt, once the session is open. `listen` is given what a signal calls: it
    interrupts the run. Raises LedgerError where the session cannot be recorded, and OutputLost, with all that
    ran ended, once standard output takes no more.
    """
    may_begin = asyncio.Event()

    async def execute() -> RunReport:
        await may_begin.wait()
        try:
            return await (agent.run.execute(prompt) if prompt else agent.run.retry())
        except ConversationError as error:
            raise UsageError(f"{error} (session {agent.session_id})") from error

    task = asyncio.create_task(execute())
    loop = asyncio.get_running_loop()
    listen(lambda: loop.call_soon_threadsafe(task.cancel))
    printer.listen(task.cancel)
    if not agent.is_resumed and (why := await agent.review.find_refusal(agent.review.mode)) is not None:
        task.cancel()
        raise ConfigError(why)
    printer.follow_past(agent.record.records)
    with watch_reader(printer):
        await agent.open()
        printer.tell_unsent(len(agent.run.unsent))
        await prepare()
        may_begin.set()
        report = await _report(task, agent)
        await printer.read_staged(agent)
        await agent.close(report)
    printer.conclude()
    if printer.lost is not None:
        raise printer.lost
    return report.exit_code


@contextmanager
def watch_reader(printer: HeadlessPrinter) -> Iterator[None]:
    """Find out at once that the reader of a pipe is gone, and not with the next line, which may be far off."""
    loop, number = asyncio.get_running_loop(), 1
    if printer.lost is not None or not stat.S_ISFIFO(os.fstat(number).st_mode):
        yield
        return
    poll = select.poll()
    poll.register(number, 0)

    def look() -> None:
        if poll.poll(0):
            loop.remove_reader(number)
            printer.lose(OutputLost(OSError(errno.EPIPE, os.strerror(errno.EPIPE))))

    loop.add_reader(number, look)  # a pipe that is written to is never readable: only its end is reported
    try:
        yield
    finally:
        loop.remove_reader(number)


async def _report(task: asyncio.Task[RunReport], agent: AgentSession) -> RunReport:
    try:
        return await task
    except asyncio.CancelledError:  # the signal came before the agent had taken its first step
        return RunReport(
            session_id=agent.session_id, status=RunStatus.INTERRUPTED, stop_reason=None, text="", turns=0
        )


def _flatten_report(event: JsonObject) -> JsonObject:
    """An event of a subagent in the form that a line of its own would have; in the ledger it is a field."""
    if event.get("type") != SessionFinished.type or not isinstance(report := event.get("report"), Mapping):
        return event
    return {"type": event["type"], "v": event["v"], **report}


def render_json_line(value: JsonValue) -> str:
    """A line of JSON without a character that a terminal would act on."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii():
        text = compile_once(_UNSAFE).sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def _answer(text: str) -> str:
    """The answer without anything a terminal would act on. Tabs stay: they may be part of code."""
    return "\t".join(make_printable(part) for part in text.split("\t"))


def _render_line(event: AgentPlanUpdated | UnaskedCallReported | JobStarted | JobEnded) -> str:
    if isinstance(event, AgentPlanUpdated | UnaskedCallReported):
        return f"· {make_printable(event.sentence)}"
    if isinstance(event, JobStarted):
        return f"· {event.job_id} runs in the background: {make_printable(event.command, newlines=False)}"
    ending = describe_job_end(event.status, event.exit_code, event.stopper, event.duration_secs)
    return f"· {event.job_id} {ending}"


def _render_detail(event: CallFinished) -> str:
    if event.outcome.is_error or event.outcome.is_rejected:
        first = event.output.strip().split("\n", 1)[0][:200]
        return f": {make_printable(first)}"
    return ""


def _render_ending(report: RunReport, last_error: str) -> str:
    """How a run ended; empty where `last_error` or another line says it."""
    match report.status:
        case RunStatus.INTERRUPTED:
            return "interrupted"
        case RunStatus.LIMIT:
            return f"stopped at a limit ({report.stop_reason})"
        case RunStatus.NEEDS_APPROVAL if report.stop_reason == EFFECTS_WAIT:
            return ""  # what waits is said with how to review it
        case RunStatus.NEEDS_APPROVAL:
            if all(call.tool == ASK_PERSON for call in report.calls if call.decision is _UNANSWERED):
                return ""
            return "some calls needed approval and nobody was there: --mode lets more run, --leave-open waits"
        case RunStatus.REFUSED:
            return "the model refused"
        case RunStatus.FAILED:
            is_told = report.provider_failed or report.error == last_error
            return "" if is_told else f"failed: {make_printable(report.error or '')}"
        case RunStatus.COMPLETED:
            return make_printable(describe_unknown_stop(report) or "")


def _describe_usage(report: RunReport) -> str:
    """The tokens of the run, and what they cost where that is known."""
    usage = report.usage
    cached = f" ({usage.cache_read:,} from the cache)" if usage.cache_read else ""
    money = "" if report.cost_usd is None else f", ${report.cost_usd:,.4f}"
    prompt = usage.input + usage.cache_read + usage.cache_write
    return f"{prompt:,} tokens in{cached}, {usage.output:,} out{money}"


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
