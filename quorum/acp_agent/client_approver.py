"""The person behind the client: questions go to it as permission requests, and decide nothing themselves.

A request shows the call as it is sealed, why it is asked, the votes as they are, and what the editor holds of a
file and has not saved yet. That is shown, and never written or sealed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from acp.exceptions import RequestError
from acp.schema import (
    AllowedOutcome,
    CreateElicitationResponse,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    ToolKind,
)
from pydantic import ValidationError

from quorum.acp_agent.person_questions import build_choice, build_form, read_values
from quorum.acp_agent.server_questions import list_answers, read_answer, render_question_title, show_question
from quorum.acp_agent.standard_io import Outbox
from quorum.acp_agent.tool_calls import (
    CallContent,
    build_text_content,
    choose_kind,
    convert_json,
    fence,
    find_locations,
    identify_call,
    render_diff,
    render_title,
    show_line,
    show_text,
)
from quorum.acp_agent.update_feed import build_notice
from quorum.application.ports.people import (
    PersonAnswer,
    Question,
    ReviewContext,
    ReviewQuestion,
    SandboxQuestion,
)
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.conversation.cost import SpendQuestion
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.mcp.server_question import (
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
    ServerQuestion,
)
from quorum.domain.review.ballot import Ballot, Vote, format_reviewer, sort_dissent_first
from quorum.domain.review.person_question import PersonQuestion, find_question
from quorum.domain.review.questions import (
    Approve,
    ApproveAlways,
    ApproveFolder,
    NobodyThere,
    Reject,
    RejectAndInterrupt,
    ReviewAnswer,
    ReviewRequest,
    RulePreview,
    RuleScope,
)
from quorum.domain.sessions.trust import TrustItem, TrustQuestion
from quorum.domain.text.printable import split_paragraphs
from quorum.errors import complain

ReadBuffer = Callable[[str], Awaitable[str]]

_PATIENCE_SECS = 3.0
_LARGEST_BYTES = 1_000_000
_MOST_FILES = 20


class UnsavedBuffers:
    """Compares files of the workspace with what the client has of them; `read` is None where it has no way.

    A client that does not answer in time, or answers with an error, has nothing unsaved. What it has saved is
    `saved_in` the folder itself, where the workspace is a layer over it.
    """

    def __init__(self, read: ReadBuffer | None, root: Path, saved_in: Path | None = None) -> None:
        self._read = read
        self._root = root.resolve()
        self._saved_in = saved_in or self._root

    async def find(self, path: Path) -> str | None:
        """The text of the buffer where it is another than that on disk."""
        if self._read is None or (saved := await asyncio.to_thread(self._read_saved, path)) is None:
            return None
        try:
            text = await asyncio.wait_for(self._read(str(path)), _PATIENCE_SECS)
        except (RequestError, ValidationError, ConnectionError, TimeoutError):
            return None
        return text if _normalise(text) != _normalise(saved) else None

    async def describe(self, request: ReviewRequest) -> tuple[str, ...]:
        """A sentence for each file of a packet that has unsaved changes."""
        paths = [Path(file.path) for file in request.packet.seal.files[:_MOST_FILES]]
        found = await asyncio.gather(*map(self.find, paths))
        return tuple(
            f"your editor has unsaved changes in {path}; this call is about the file on disk"
            for path, text in zip(paths, found, strict=True)
            if text is not None
        )

    def _read_saved(self, path: Path) -> str | None:
        """What is on disk, where that is a text of the workspace."""
        try:
            file = path.resolve(strict=True)
            if not file.is_relative_to(self._root):
                return None
            file = self._saved_in / file.relative_to(self._root)
            if not file.is_file() or file.stat().st_size > _LARGEST_BYTES:
                return None
            return file.read_text(encoding="utf-8")
        except (OSError, RuntimeError, ValueError):
            return None


def _normalise(text: str) -> str:
    """Editors hold lines, not their ends."""
    return text.replace("\r\n", "\n").removesuffix("\n")


_SAID_BY_DIFF = frozenset({"path", "content", "old_text", "new_text", "edits", "patch"})
_HIDDEN = "Secrets are shown as [secret:NAME]; what runs, and its digest, hold them as they are."
_STALE = "What would run is no longer what was asked about before, so it is asked again."
_MOST_LINES = 400
_LONGEST_HEAD, _LONGEST_CALL = 300, 20_000


def show_review(
    request: ReviewRequest, context: ReviewContext, rule: RulePreview | None, notices: tuple[str, ...] = ()
) -> list[CallContent]:
    """All that is to be read before a call is approved: what would run comes first, and is never cut."""
    seal = request.packet.seal
    shown: list[CallContent] = [*render_diff(seal.diff, seal.cwd)] if seal.diff else []
    shown += [build_text_content(text) for text in _render_what_runs(request)]
    return [*shown, build_text_content("\n".join(_render_facts(request, context, rule, notices)))]


def render_question(request: ReviewRequest, context: ReviewContext) -> str:
    """The call in one line, after why it is asked and how the votes stand: what a model writes comes last, so
    that it can neither hide nor imitate the rest. The call is not cut."""
    call = request.packet.call
    title = render_title(call.tool_name, call.arguments, _LONGEST_CALL)
    return f"{_render_reasons(request, context)} {title}"


def _render_reasons(request: ReviewRequest, context: ReviewContext) -> str:
    why = [show_line(reason) for reason in dict.fromkeys((*request.dangers, *request.reasons))]
    votes = [f"votes: {show_line(_describe_count(context))}"] if context.reviewers else []
    return f"[{show_line('; '.join((*votes, *why)), _LONGEST_HEAD)}]"


def _describe_count(context: ReviewContext) -> str:
    return context.tally.describe_count(len(context.awaited))


def describe_review(request: ReviewRequest, context: ReviewContext) -> dict[str, Any]:
    """The same for programs: digest, reasons, votes and the packet itself."""
    return {
        "digest": request.packet.digest,
        "preamble": request.preamble,
        "reasons": list(request.reasons),
        "packet": convert_json(request.packet.to_json()),
        "reviewers": list(context.reviewers),
        "not_asked": list(context.not_asked),
        "votes": [_vote_json(ballot) for ballot in sort_dissent_first(context.ballots)],
        "tally": _describe_count(context) if context.reviewers else None,
        "stale": request.stale,
        "earlier_plans": [
            {"round": earlier.number, "text": earlier.text, "votes": [*map(_vote_json, earlier.ballots)]}
            for earlier in request.earlier_plans
        ],
        "comparison": _encode_comparison(request),
    }


def show_trust(question: TrustQuestion) -> list[CallContent]:
    """What a folder brings along, in full as far as it is not very long; what is left out is counted."""
    return [build_text_content(text) for text in (_trust_head(question), *map(_show_item, question.items))]


def show_spending(question: SpendQuestion) -> list[CallContent]:
    """How much was spent, and what a yes allows."""
    return [build_text_content(f"{show_text(question.reason)}.\n\ndigest: `{question.digest}`")]


def _render_what_runs(request: ReviewRequest) -> Iterator[str]:
    arguments = dict(request.packet.call.arguments)
    command = arguments.pop("command", None)
    if isinstance(command, str):
        yield fence(command, "sh")
    elif command is not None:
        arguments["command"] = command
    if request.packet.seal.diff:
        arguments = {key: value for key, value in arguments.items() if key not in _SAID_BY_DIFF}
    if arguments:
        yield fence(json.dumps(convert_json(arguments), indent=2, ensure_ascii=False), "json")


def _render_facts(
    request: ReviewRequest, context: ReviewContext, rule: RulePreview | None, notices: tuple[str, ...]
) -> Iterator[str]:
    packet, seal = request.packet, request.packet.seal
    yield from _render_origin(request)
    for reason in dict.fromkeys((*request.dangers, *request.reasons)):
        yield f"- asked because: {show_text(reason)}"
    for notice in notices:
        yield f"- {show_text(notice)}"
    if isinstance(packet, MaskedPacket):
        yield f"- {_HIDDEN}"
    for file in seal.files:
        state = "new file" if file.sha256 is None else f"sha256 {file.sha256[:12]}…"
        yield f"- touches: `{show_line(file.path, 4096)}` ({state})"
    yield from (f"- makes the folder `{show_line(folder, 4096)}`" for folder in seal.folders)
    for program in seal.executables:
        yield f"- runs: `{show_line(program, 4096)}`"
    for name, value in seal.environment.items():
        yield f"- environment: `{show_line(name if value is None else f'{name}={value}', 4096)}`" + (
            " removed" if value is None else ""
        )
    if seal.sandbox is not None:
        yield f"- sandbox: {show_text(seal.sandbox)}"
    if seal.unsealed:
        yield f"- not known: {show_text(seal.unsealed)}"
    yield from _render_votes(context)
    yield from _list_compared_plans(request)
    yield from _render_earlier_plans(request)
    if rule is not None and rule.covers:
        yield "- the rule would also let run:"
        yield from (f"  - `{show_line(call)}`" for call in rule.covers)
    yield f"- packet: `{packet.digest}`"


def _render_origin(request: ReviewRequest) -> Iterator[str]:
    """The tool, where it runs, who asks and what the model wrote before, on one line that imitates no other."""
    packet = request.packet
    place = f", call {packet.context.call_index + 1} of {request.batch_size}" if request.batch_size > 1 else ""
    yield f"**{show_line(packet.call.tool_name)}**{place}, in `{show_line(packet.seal.cwd, 4096)}`\n"
    if packet.asked_by:
        yield f"- asked by: {show_line(packet.asked_by)}"
    if preamble := split_paragraphs(request.preamble)[-1]:
        yield f"- the model wrote: {show_line(preamble, _LONGEST_HEAD)}"
    if request.stale:
        yield f"- {_STALE}"


def _render_votes(context: ReviewContext) -> Iterator[str]:
    if not context.reviewers:
        return
    independent = "" if context.independent else "; they are not independent: all are of one family of models"
    yield f"- votes: {show_text(_describe_count(context))}{independent}"
    for ballot in sort_dissent_first(context.ballots):
        confidence = "" if ballot.confidence is None else f" ({ballot.confidence:.0%})"
        quoted = f", about “{show_line(ballot.objection)}”" if ballot.objection else ""
        said = f"**{ballot.counts_as}**{confidence}: {show_text(ballot.explanation)}{quoted}"
        yield f"  - {show_line(format_reviewer(ballot.reviewer, ballot.lens))} {said}"
        yield from (f"    - {show_text(objection.describe())}" for objection in ballot.objections)
    for reviewer in context.awaited:
        yield f"  - {show_line(format_reviewer(reviewer, context.lenses.get(reviewer)))} has not voted yet"
    for reviewer in context.not_asked:
        yield f"  - {show_line(reviewer)} is not asked: the first vote left no doubt"


def _list_compared_plans(request: ReviewRequest) -> Iterator[str]:
    """What several models found who made plans, and said of each other's."""
    if request.comparison is not None:
        yield "- several models planned:"
        yield from (f"  - {show_text(finding)}" for finding in request.comparison.findings)


def _render_earlier_plans(request: ReviewRequest) -> Iterator[str]:
    """What reviewers objected to in the plans before this one."""
    for earlier in request.earlier_plans:
        yield f"- objections to the plan of round {earlier.number}:"
        for ballot in sort_dissent_first(earlier.ballots):
            name = show_line(format_reviewer(ballot.reviewer, ballot.lens))
            if ballot.counts_as is Vote.REJECT and not ballot.objections:
                yield f"  - {name}: {show_text(ballot.explanation)}"
            yield from (f"  - {name}: {show_text(objection.describe())}" for objection in ballot.objections)


def _encode_comparison(request: ReviewRequest) -> dict[str, Any] | None:
    """What several models planned and said of each other's plans; None where one model did."""
    if request.comparison is None:
        return None
    plans = [
        {
            "label": each.label,
            "model": each.model,
            "score": each.score,
            "remarks": [*each.remarks],
            "text": each.text,
        }
        for each in request.comparison.plans
    ]
    return {"findings": [*request.comparison.findings], "plans": plans}


def _vote_json(ballot: Ballot) -> dict[str, Any]:
    return {
        "reviewer": ballot.reviewer,
        "lens": ballot.lens,
        "verdict": ballot.vote.value,
        "in_scope": ballot.in_scope,
        "counts_as": ballot.counts_as.value,
        "confidence": ballot.confidence,
        "reason": ballot.reason,
        "objection": ballot.objection,
        "objections": [objection.to_json() for objection in ballot.objections],
    }


def _trust_head(question: TrustQuestion) -> str:
    return (
        f"`{show_line(question.folder, 4096)}` brings this along. What is trusted is followed by the model "
        f"until it changes; what is not trusted is ignored.\n\ndigest: `{question.digest}`"
    )


def _show_item(item: TrustItem) -> str:
    changed = " (changed since it was trusted)" if item.changed else ""
    lines = [
        f"**{show_line(item.file, 4096)}**{changed}",
        *(f"- {show_line(want, 1000)}" for want in item.wants),
    ]
    if changes := item.compare():
        lines += ["", fence("\n".join(changes[:_MOST_LINES]), "diff")]
    if item.text:
        lines += ["", fence("\n".join(item.text[:_MOST_LINES]))]
    if len(item.text) > _MOST_LINES:
        lines.append(
            f"{len(item.text) - _MOST_LINES:,} more lines are not shown here; open the file to read them"
        )
    return "\n".join(lines)


AskClient = Callable[[ToolCallUpdate, list[PermissionOption]], Awaitable[RequestPermissionResponse]]
Elicit = Callable[[ServerQuestion], Awaitable[CreateElicitationResponse] | None]
"""Puts a question of an MCP server as a form or an address; None where the client has no way to show it."""
FindUnsaved = Callable[[ReviewRequest], Awaitable[tuple[str, ...]]]

ALLOW, REJECT, ALLOW_FOLDER = "allow", "reject", "allow-folder"
ALWAYS = {RuleScope.SESSION: "always-session", RuleScope.PROJECT: "always-project"}
NAMING_CLIENTS = frozenset({"acpx", "agent-shell", "toad", "zed"})
"""Clients, as they call themselves, that draw the names of options. Others may draw one button a kind."""
DIFF_CLIENTS = frozenset({"toad"})
"""Those of them that draw of an edit nothing but its diff and the names of options."""

_CANCELLED = "cancelled"
_REPLY_BY_PROMPT = "Your next prompt is the answer."
VOTES_SECS = 15.0
_Answer = TypeVar("_Answer")


class ClientApprover:
    """Implements `Approver` over permission requests of the protocol.

    An answer that was not offered, and a client that cannot ask, leave the call withheld, as where nobody is
    there. A client that goes away leaves the question open: it is recorded, and can be answered elsewhere.
    """

    is_there = True

    def __init__(
        self,
        ask: AskClient,
        outbox: Outbox,
        find_unsaved: FindUnsaved,
        *,
        shows_option_names: bool,
        shows_titles_of_edits: bool = True,
        elicit: Elicit = lambda _question: None,
    ) -> None:
        self._ask = ask
        self._elicit = elicit
        self._outbox = outbox
        self._find_unsaved = find_unsaved
        self.shows_option_names = shows_option_names
        self.shows_titles_of_edits = shows_titles_of_edits
        self._open = 0

    @property
    def is_asking(self) -> bool:
        """Whether a review waits for its answer."""
        return self._open > 0

    async def ask(self, question: Question) -> PersonAnswer:
        """Ask the client. It has its own choice of modes, so that it is offered none."""
        match question:
            case ReviewQuestion(request, context):
                self._open += 1  # before the client is asked: one that goes away leaves the question open
                try:
                    if (asked := find_question(request.packet.call)) is not None:
                        return await self._ask_person(asked, request.packet)
                    return await self._review(request, context)
                finally:
                    self._open -= 1
            case TrustQuestion():
                return await self._trust(question)
            case SpendQuestion():
                return await self._raise_cap(question)
            case ServerForm() | ServerAddress():
                return await self._answer_server(question)
            case SandboxQuestion():
                return False

    async def _review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
        """Ask about one sealed call; votes that come meanwhile are shown with it."""
        rule, preview = _choose_rule(request, review_context)
        unsaved = await self._find_unsaved(request)
        call_id, packet = identify_call(request.packet.context), request.packet

        def build_contents() -> list[CallContent]:
            return show_review(request, review_context, preview, unsaved)

        def show() -> None:
            """Some clients draw updates of a call and of a request its title alone."""
            self._outbox.put(
                ToolCallProgress(
                    session_update="tool_call_update",
                    tool_call_id=call_id,
                    title=render_question(request, review_context),
                    status="pending",
                    content=build_contents(),
                    field_meta={"quorum": describe_review(request, review_context)},
                )
            )

        await self._outbox.wait_for_call(call_id)
        show()
        if not self._redraws(packet):
            await _wait_for_votes(review_context)
        if not self.shows_option_names and packet.seal.diff:  # it may draw no more than the diff
            self._outbox.put(build_notice(f"asks about {render_question(request, review_context)}"))
        call = ToolCallUpdate(
            tool_call_id=call_id,
            title=render_question(request, review_context),
            kind=_choose_asked_kind(packet.call.tool_name),
            status="pending",
            locations=find_locations(packet.call.arguments, packet.seal.diff, packet.seal.cwd) or None,
            raw_input=convert_json(packet.call.arguments),
            content=build_contents(),
            field_meta={"quorum": describe_review(request, review_context)},
        )
        unwatch = review_context.watch(show)
        try:
            options = self._list_options(rule, request.folder)
            if not self.shows_titles_of_edits and packet.seal.diff:
                options[0].name += f" {_render_reasons(request, review_context)}"
            chosen = await self._choose(call, options)
        finally:
            unwatch()
        return _answer(chosen, packet.digest, rule, request.folder)

    def _redraws(self, packet: ReviewPacket) -> bool:
        """Whether votes that come after a question are seen in it."""
        return self.shows_option_names and (self.shows_titles_of_edits or not packet.seal.diff)

    async def _ask_person(self, question: PersonQuestion, packet: ReviewPacket) -> ReviewAnswer:
        """Put a question of the model as a form, or as a choice of one option. A client that has neither gets
        it as text: the turn ends, and the next prompt is the reply."""
        call_id, form = identify_call(packet.context), build_form(question)
        await self._outbox.wait_for_call(call_id)
        await self._outbox.flush()
        if (asked := self._elicit(form)) is not None:
            response = await wait_for(asked)
            if response is None:
                return NobodyThere()
            return Approve(packet.digest, reply=read_values(read_answer(form, response).values))
        choice = build_choice(question)
        answers = list_answers(choice, by_name=self.shows_option_names)
        if not answers:
            asked_in_text = f"{render_question_title(choice)}:\n\n{choice.message}\n\n{_REPLY_BY_PROMPT}"
            self._outbox.put(build_notice(asked_in_text))
            return NobodyThere()
        call = ToolCallUpdate(
            tool_call_id=call_id,
            title=render_question_title(choice),
            kind="other",
            status="pending",
            content=show_question(choice),
        )
        chosen = await self._choose(call, [option for option, _ in answers])
        if chosen == _CANCELLED:
            return RejectAndInterrupt()
        given = next((answer for option, answer in answers if option.option_id == chosen), None)
        return NobodyThere() if given is None else Approve(packet.digest, reply=read_values(given.values))

    async def _trust(self, question: TrustQuestion) -> bool:
        options = [
            PermissionOption(option_id=ALLOW, name="Trust this content", kind="allow_always"),
            PermissionOption(option_id=REJECT, name="Not now", kind="reject_once"),
        ]
        title = f"Trust what {show_line(question.folder)} brings along?"
        return await self._confirm(title, show_trust(question), options)

    async def _raise_cap(self, question: SpendQuestion) -> bool:
        to = "" if question.raise_to is None else f", up to {question.cap.render(question.raise_to)}"
        options = [
            PermissionOption(option_id=ALLOW, name=f"Continue{to}", kind="allow_once"),
            PermissionOption(option_id=REJECT, name="Stop here", kind="reject_once"),
        ]
        return await self._confirm(f"Continue past agent.{question.cap}?", show_spending(question), options)

    async def _answer_server(self, question: ServerQuestion) -> ServerAnswer:
        """Put a question of an MCP server. A client without forms is given a choice of a few answers; where
        that is not enough, the question is declined."""
        await self._outbox.flush()
        if (asked := self._elicit(question)) is not None:
            response = await wait_for(asked)
            return (
                ServerAnswer(action=ServerAction.CANCEL)
                if response is None
                else read_answer(question, response)
            )
        answers = list_answers(question, by_name=self.shows_option_names)
        if not answers:
            complain([f"{render_question_title(question)} in a form, which this client cannot show"])
            return ServerAnswer(action=ServerAction.DECLINE)
        options = [option for option, _ in answers]
        chosen = await self.pose(render_question_title(question), show_question(question), options)
        return next(
            (answer for option, answer in answers if option.option_id == chosen),
            ServerAnswer(action=ServerAction.CANCEL),
        )

    def _list_options(self, rule: str | None, folder: str | None) -> list[PermissionOption]:
        return self.limit_options(_list_options(rule, folder))

    def limit_options(self, options: list[PermissionOption]) -> list[PermissionOption]:
        """The first of each kind, where the client may draw kinds in place of names."""
        if self.shows_option_names:
            return options
        return list({option.kind: option for option in reversed(options)}.values())[::-1]

    async def _confirm(self, title: str, content: list[CallContent], options: list[PermissionOption]) -> bool:
        return await self.pose(title, content, options) == ALLOW

    async def pose(
        self,
        title: str,
        content: list[CallContent],
        options: list[PermissionOption],
        about: dict[str, Any] | None = None,
    ) -> str:
        """The id of what was chosen about no call. Clients draw it as one: it begins and ends as one. What is
        `about` it is for programs."""
        call_id = f"question:{uuid4()}"  # a session that is loaded anew has other questions
        self._outbox.put(
            ToolCallStart(
                session_update="tool_call",
                tool_call_id=call_id,
                title=title,
                kind="other",
                status="pending",
                content=content,
                field_meta=about,
            )
        )
        accepting = {option.option_id for option in options if option.kind != "reject_once"}
        call = ToolCallUpdate(
            tool_call_id=call_id,
            title=title,
            kind="other",
            status="pending",
            content=content,
            field_meta=about,
        )
        chosen = ""
        try:
            chosen = await self._choose(call, options)
        finally:
            self._outbox.put(
                ToolCallProgress(
                    session_update="tool_call_update",
                    tool_call_id=call_id,
                    status="completed" if chosen in accepting else "failed",
                )
            )
        return chosen

    async def _choose(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        """The id of the option that was chosen, `cancelled`, or empty where there is no valid answer."""
        await self._outbox.flush()
        response = await wait_for(self._ask(call, options))
        if response is None:
            return ""
        if not isinstance(response.outcome, AllowedOutcome):
            return _CANCELLED
        chosen = response.outcome.option_id
        if chosen not in {option.option_id for option in options}:
            complain([f"the client chose an option that was not offered: {show_line(chosen)}"])
            return ""
        return chosen


async def _wait_for_votes(context: ReviewContext) -> None:
    """Wait until all have voted, for a while."""
    arrived = asyncio.Event()

    def look() -> None:
        if not context.awaited:
            arrived.set()

    unwatch = context.watch(look)
    look()
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(arrived.wait(), VOTES_SECS)
    finally:
        unwatch()


async def wait_for(answer: Awaitable[_Answer]) -> _Answer | None:
    """What the client answers; None where that is an error."""
    try:
        return await answer
    except ConnectionError:
        forever: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        return await forever  # nobody answers; the question stays open in the ledger
    except (RequestError, ValidationError) as error:
        complain([f"the client did not answer a question: {error}"])
        return None


def _choose_asked_kind(tool: str) -> ToolKind:
    """The kind in a question. Some clients allow reads and searches without a word to the person."""
    kind = choose_kind(tool)
    return "other" if kind in ("read", "search") else kind


def _choose_rule(request: ReviewRequest, context: ReviewContext) -> tuple[str | None, RulePreview | None]:
    """The narrowest rule that can be saved and covers this call, and what else it would let run."""
    for rule in request.proposals:
        preview = context.preview(rule)
        if preview.problem is None and preview.covers_this:
            return rule, preview
    return None, None


def _list_options(rule: str | None, folder: str | None) -> list[PermissionOption]:
    """An option that is for always names the whole rule that it saves, or the whole folder that it adds."""
    options = [PermissionOption(option_id=ALLOW, name="Allow once", kind="allow_once")]
    if rule is not None:
        wheres = ((RuleScope.SESSION, "in this session"), (RuleScope.PROJECT, "in this folder"))
        options += [
            PermissionOption(
                option_id=ALWAYS[scope],
                name=f"Always allow {where}: {show_line(rule, 4096)}",
                kind="allow_always",
            )
            for scope, where in wheres
        ]
    if folder is not None:
        name = f"Allow, and add the folder to the workspace of this session: {show_line(folder, 4096)}"
        options.append(PermissionOption(option_id=ALLOW_FOLDER, name=name, kind="allow_always"))
    return [*options, PermissionOption(option_id=REJECT, name="Reject", kind="reject_once")]


def _answer(chosen: str, digest: str, rule: str | None, folder: str | None) -> ReviewAnswer:
    scopes: dict[str, Any] = {option: scope for scope, option in ALWAYS.items()}
    match chosen:
        case "allow":
            return Approve(digest)
        case "allow-folder" if folder is not None:
            return ApproveFolder(digest, folder)
        case "reject":
            return Reject()
        case "cancelled":
            return RejectAndInterrupt()
        case always if always in scopes and rule is not None:
            return ApproveAlways(digest, (rule,), scopes[always])
        case _:
            return NobodyThere()
