"""The page of pending reviews: a list, one page for each question, and its answer. It needs no script.

An answer goes to the open dialog of an app, as the remote control takes it, or into the inbox, by its digest.
Nothing is decided or run here.

They are answered with the rights, and signed with the keys, of whoever runs the server.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from aiohttp import web

from quorum.application.export.session_json import mask_json
from quorum.application.inbox import build_request, build_review_context
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.errors import QuorumError
from quorum.domain.review.person_question import find_question
from quorum.domain.review.questions import omit_guard
from quorum.domain.staging.effects_answer import EffectNames, EffectsAnswer
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import split_paragraphs
from quorum.domain.text.unified_diff import parse_diff
from quorum.errors import complain
from quorum.rpc.client import NoAnswer
from quorum.rpc.review_json import render_review_json
from quorum.serve.access import MOST_SESSIONS, BrowserSession, get_session
from quorum.serve.approvals.pending import (
    NotDone,
    PendingQuestion,
    QuestionList,
    RemoteApp,
    Reviewer,
    WaitingTab,
    read_question,
)
from quorum.serve.html import escape_line, read_form, render_page
from quorum.tui.screens.review.earlier import NOTHING

if TYPE_CHECKING:
    from quorum.application.inbox import Inbox
    from quorum.domain.sessions.waiting_review import WaitingReview


_MOST_LISTED = 50


class InboxQuestions:
    """The inbox as a source of questions. `build_mask` makes what hides secrets, and blocks."""

    name = "inbox"
    can_approve = True

    def __init__(self, inbox: Inbox, build_mask: Callable[[], Callable[[str], str]]) -> None:
        self._inbox, self._build_mask = inbox, build_mask

    async def list_questions(self) -> QuestionList:
        """Those that wait longest. Raises NotDone."""
        waiting = await self._list_waiting()
        shown = await self._build_questions(waiting[:_MOST_LISTED])
        return QuestionList(shown, left_out=len(waiting) - len(shown))

    async def find_question(self, digest: str) -> PendingQuestion | None:
        """The one of this digest, if it still waits. Raises NotDone."""
        waiting = [each for each in await self._list_waiting() if each.digest == digest]
        return next(iter(await self._build_questions(waiting)), None)

    async def note_seen(self, question: PendingQuestion) -> None:
        """Somebody looks at it."""
        await self._inbox.note_seen(question.session_id, question.digest)

    async def approve(self, question: PendingQuestion) -> str:
        """Approve it, by a signature where it takes some; what that comes to. Raises NotDone."""
        try:
            review = await self._inbox.answer(question.digest, approves=True)
        except QuorumError as refusal:
            raise NotDone(str(refusal)) from refusal
        return review.signatures or _describe_taking(review)

    async def answer_effects(self, digest: str, given: EffectsAnswer) -> None:
        """Have what is asked about the changes in a layer be done so. Raises NotDone."""
        try:
            await self._inbox.answer_effects(digest, given)
        except QuorumError as refusal:
            raise NotDone(str(refusal)) from refusal

    async def reply(self, digest: str, reply: str) -> None:
        """Reply to a question of the model. Raises NotDone."""
        try:
            await self._inbox.reply(digest, reply)
        except QuorumError as refusal:
            raise NotDone(str(refusal)) from refusal

    async def reject(self, digest: str, reason: str) -> None:
        """Reject it. Raises NotDone."""
        try:
            await self._inbox.answer(digest, approves=False, reason=reason or None)
        except QuorumError as refusal:
            raise NotDone(str(refusal)) from refusal

    async def _list_waiting(self) -> tuple[WaitingReview, ...]:
        try:
            return await self._inbox.list_waiting()
        except QuorumError as problem:
            raise NotDone(str(problem)) from problem

    async def _build_questions(self, waiting: Sequence[WaitingReview]) -> tuple[PendingQuestion, ...]:
        if not waiting:
            return ()
        mask = await asyncio.to_thread(self._build_mask)
        return tuple(_build_question(review, mask) for review in waiting)


def _describe_taking(review: WaitingReview) -> str:
    return "its process takes the answer" if review.is_open else "it counts when the session is resumed"


def _build_question(review: WaitingReview, mask: Callable[[str], str]) -> PendingQuestion:
    shown: Mapping[str, object]
    if (question := find_question(review.packet.call)) is not None:
        shown = {"kind": "question", "digest": review.digest, **struct_to_json(question)}
    else:
        shown = render_review_json(build_request(review), build_review_context(), NOTHING, review.session.cwd)
    masked = mask_json(cast("JsonObject", dict(shown)), mask)
    assert isinstance(masked, dict)
    return read_question(masked, {"session_id": review.session.id})


MOST_SHOWN_CHARACTERS = 300_000
_BINARY = re.compile(r"binary: [0-9]+ → [0-9]+ bytes\n?")
_SIGNS = {"approve": "✓ approves", "reject": "✗ rejects", "abstain": "· abstains", "model_error": "! failed"}
_CLASSES = {"+": "add", "-": "del", "@": "hunk"}


def is_complete(question: PendingQuestion) -> bool:
    """Whether all that would be approved is on the page."""
    return len(json.dumps(question.packet, ensure_ascii=False)) <= MOST_SHOWN_CHARACTERS


def describe_briefly(question: PendingQuestion) -> str:
    """What would run, in one line of text."""
    if question.kind == "question":
        return question.question[:200]
    if question.kind != "review":
        return {"trust": "trust in files of a project", "spend": "a spend cap"}.get(
            question.kind, question.kind
        )
    if question.effects is not None:
        return question.effects.summary[:200]
    if question.command is not None:
        return question.command.partition("\n")[0][:200]
    paths = [str(file.get("path")) for file in _list_files(question)]
    return ", ".join(paths)[:200]


def render_question(question: PendingQuestion) -> Iterator[str]:
    """Everything there is to know before it is answered."""
    yield f"<h1>{escape_line(_render_heading(question))}</h1>"
    yield from (f'<p class="danger">{escape_line(omit_guard(text))}</p>' for text in question.dangers)
    if not is_complete(question):
        yield (
            '<p class="danger">this is too long for the page: it is cut here, and can be approved at the '
            "keyboard only</p>"
        )
    if preamble := split_paragraphs(question.preamble)[-1]:
        yield f'<p class="quiet">model: {escape_line(preamble[:_LONGEST_REASON])}</p>'
    yield from _render_substance(question)
    yield from _render_votes(question)
    yield from _render_facts(question)


def _render_heading(question: PendingQuestion) -> str:
    context = question.packet.get("context")
    index = context.get("call_index") if isinstance(context, Mapping) else None
    place = ""
    if isinstance(index, int) and question.batch_size > 1:
        place = f" · call {index + 1} of {question.batch_size}"
    asked_by = f" · {by}" if (by := question.packet.get("asked_by")) else ""
    return f"{question.title or format_tool_name(question.tool)}{place}{asked_by}"


def _render_substance(question: PendingQuestion) -> Iterator[str]:
    arguments = json.dumps(question.packet.get("arguments"), ensure_ascii=False, indent=2)
    if question.kind == "question":
        yield f"<pre>{escape_line(question.question)}</pre>"
        yield f"<ol>{''.join(f'<li>{escape_line(option)}</li>' for option in question.options)}</ol>"
    elif question.kind != "review":
        yield from (f"<p>{escape_line(note)}</p>" for note in question.notes)
    elif question.effects is not None:
        yield _block(question.effects.text, question.objections)
        yield _diff_block(question.diff or "", question.objections)
    elif question.diff is not None:
        shown = question.diff or "the file's text stays as it is"
        yield _diff_block(shown, question.objections)
        if _BINARY.fullmatch(question.diff):
            yield _block(arguments, question.objections)
    elif question.command is not None:
        yield _block(question.command, question.objections)
    else:
        yield _block(arguments, question.objections)
    if question.effects is None:
        yield from (f"<p>{escape_line(text)}</p>" for text in question.arguments)


def _diff_block(text: str, objections: Sequence[str]) -> str:
    return _block(text, objections, [_CLASSES.get(line.sign, "") for line in parse_diff(text)])


def _block(text: str, objections: Sequence[str], classes: Sequence[str] = ()) -> str:
    """The text, of which the lines are of these classes, where there are some."""
    lines, kinds = [], iter(classes)
    for line in text[:MOST_SHOWN_CHARACTERS].split("\n"):
        marked, kind = _mark(line, objections), next(kinds, "")
        lines.append(f'<span class="{kind}">{marked}</span>' if kind else marked)
    return f"<pre>{chr(10).join(lines)}</pre>"


def _mark(line: str, objections: Sequence[str]) -> str:
    """A line in which what is objected to stands out. Quotes of several lines are looked for line by line."""
    quotes = {quote for each in objections for quote in each.split("\n") if quote.strip()}
    if not (found := sorted((quote for quote in quotes if quote in line), key=len, reverse=True)):
        return escape_line(line)
    # Of quotes that begin at one place the longest is marked.
    pieces = re.split(f"({'|'.join(map(re.escape, found))})", line)
    return "".join(
        f"<mark>{escape_line(piece)}</mark>" if place % 2 else escape_line(piece)
        for place, piece in enumerate(pieces)
    )


def _render_votes(question: PendingQuestion) -> Iterator[str]:
    if not question.reviewers:
        return
    yield f"<h2>Votes</h2><p>{escape_line(question.count)}</p>"
    if not question.is_independent and len(question.reviewers) > 1:
        yield '<p class="danger">not independent: one family of models</p>'
    yield from map(_vote, question.reviewers)


def _vote(reviewer: Reviewer) -> str:
    if not reviewer.vote:
        return f'<p class="quiet">{escape_line(reviewer.name)} has not voted yet</p>'
    sure = "" if reviewer.confidence is None else f" {reviewer.confidence:g}"
    objection = f"<br>objects to: <mark>{escape_line(reviewer.objection)}</mark>" if reviewer.objection else ""
    return (
        f'<p class="card"><strong>{escape_line(_SIGNS.get(reviewer.vote, reviewer.vote))}{sure}</strong> · '
        f"{escape_line(reviewer.name)}<br>{escape_line(reviewer.reason)}{objection}</p>"
    )


def _render_facts(question: PendingQuestion) -> Iterator[str]:
    packet = question.packet
    found = [("asked by", str(packet["asked_by"]))] if packet.get("asked_by") else []
    found += [("asks because", reason) for reason in question.reasons]
    found += [
        ("touches", f"{file.get('path')}  sha256 {file.get('sha256') or 'none: new file'}")
        for file in _list_files(question)
    ]
    found += [("runs", str(program)) for program in _list(packet.get("executables"))]
    if isinstance(packet.get("cwd"), str):
        found.append(("in", str(packet["cwd"])))
    environment = packet.get("environment")
    if isinstance(environment, Mapping):
        found += [
            ("environment", f"{name} removed" if value is None else f"{name}={value}")
            for name, value in environment.items()
        ]
    found += [
        (name, str(packet[key]))
        for name, key in (("sandbox", "sandbox"), ("not known", "unsealed"))
        if packet.get(key)
    ]
    found += [("session", question.session_id), ("fingerprint", question.digest)]
    rows = (f"<dt>{escape_line(name)}</dt><dd>{escape_line(value)}</dd>" for name, value in found)
    yield f"<h2>Details</h2><dl>{''.join(rows)}</dl>"


def _list_files(question: PendingQuestion) -> list[Mapping[str, object]]:
    return [file for file in _list(question.packet.get("files")) if isinstance(file, Mapping)]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_MOST_LINKS = MOST_SESSIONS * 64  # more than the list shows to any browser
_LINK_BYTES = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTarget:
    """What a link decides about: the question of this digest, of this app, shown to the browser of `csrf`."""

    csrf: str
    app: str
    digest: str


class DecisionLinks:
    """Makes and redeems links. The oldest gives way to a new one."""

    def __init__(self) -> None:
        self._targets: dict[str, DecisionTarget] = {}
        self._links: dict[DecisionTarget, str] = {}

    def link_to(self, target: DecisionTarget) -> str:
        """The link of a target: the one that was made before, if it was not used."""
        if (link := self._links.get(target)) is None:
            while len(self._targets) >= _MOST_LINKS:
                self._drop(next(iter(self._targets)))
            link = self._links[target] = secrets.token_urlsafe(_LINK_BYTES)
            self._targets[link] = target
        return link

    def find(self, link: str, csrf: str) -> DecisionTarget | None:
        """What a link is about; None where it was used, or made for another browser."""
        target = self._targets.get(link)
        return target if target is not None and target.csrf == csrf else None

    def redeem(self, link: str, csrf: str) -> DecisionTarget | None:
        """The same, and the link is used up."""
        target = self.find(link, csrf)
        if target is not None:
            self._drop(link)
        return target

    def _drop(self, link: str) -> None:
        del self._links[self._targets.pop(link)]


_STYLE = "page.css"
_TAKE, _REPLACE = "take", "replace"
_MOST_OPEN = 20
_REFRESH = '<meta http-equiv="refresh" content="5">\n'
_LONGEST_REASON = 2000
_GONE = web.HTTPGone.status_code

QuestionSource: TypeAlias = RemoteApp | InboxQuestions


class ApprovalsPage:
    """Shows the questions of the apps that `list_apps` names at the time, and those of the inbox, if any."""

    def __init__(
        self, list_apps: Callable[[], Iterable[RemoteApp]], inbox: InboxQuestions | None = None
    ) -> None:
        self._list_apps = list_apps
        self._inbox = inbox
        self._links = DecisionLinks()

    def add_routes(self, app: web.Application) -> None:
        """Serve the list and the links."""
        app.router.add_get("/approvals", self._show_list, allow_head=False)
        app.router.add_post("/approvals/show", self._show_tab)
        app.router.add_get("/approvals/{link}", self._show_question, allow_head=False)
        app.router.add_post("/approvals/{link}", self._answer)

    async def _show_list(self, request: web.Request) -> web.Response:
        session = get_session(request)
        if (wanted := request.query.get("decision", "")) and (link := await self._find_link(wanted, session)):
            raise web.HTTPSeeOther(f"/approvals/{link}")
        found: dict[str, tuple[QuestionSource, PendingQuestion]] = {}
        tabs: list[tuple[RemoteApp, WaitingTab]] = []
        problems: list[str] = []
        apps = list(self._list_apps())
        for source in self._list_sources(apps):
            try:
                listing = await source.list_questions()
                if listing.left_out:
                    problems.append(
                        f"{source.name}: {listing.left_out} more, which come up as these are answered"
                    )
                for question in listing.questions:
                    # The inbox, which comes last, says at once what became of a signature.
                    if question.digest not in found or question.signing:
                        found[question.digest] = (source, question)
                if isinstance(source, RemoteApp):
                    tabs += [(source, tab) for tab in await source.list_waiting_tabs()]
            except (NoAnswer, NotDone) as problem:
                problems.append(f"{source.name}: {problem}")
        listed = {question.session_id for _, question in found.values()}
        cards = [
            *(self._render_card(source, question, session) for source, question in found.values()),
            *(_render_tab_form(app, tab, session) for app, tab in tabs if tab.session_id not in listed),
            *(f'<p class="problem">{escape_line(problem)}</p>' for problem in problems),
        ]
        is_anybody_there = apps or self._inbox is not None
        nothing = (
            "nothing waits for an answer" if is_anybody_there else "no quorum runs that this page could ask"
        )
        body = [
            '<body class="page"><h1>Pending reviews</h1>',
            *(cards or [f'<p class="said">{nothing}</p>']),
            '<p class="quiet">This page looks again every five seconds. <a href="/approvals/notify">Tell this '
            "browser when a decision waits</a></p></body>",
        ]
        return render_page("pending reviews", body, style=_STYLE, head=_REFRESH)

    def _list_sources(self, apps: Iterable[RemoteApp]) -> tuple[QuestionSource, ...]:
        return (*apps, *((self._inbox,) if self._inbox is not None else ()))

    async def _find_link(self, digest: str, session: BrowserSession) -> str:
        """The link of a decision that somebody was told of; empty where it does not wait here."""
        link = ""
        for source in self._list_sources(self._list_apps()):
            with suppress(NoAnswer, NotDone):
                question = await source.find_question(digest)
                if question is not None and (not link or question.signing):
                    link = self._link_to(source, question, session)
        return link

    def _link_to(self, source: QuestionSource, question: PendingQuestion, session: BrowserSession) -> str:
        target = DecisionTarget(csrf=session.csrf, app=source.name, digest=question.digest)
        return self._links.link_to(target)

    def _render_card(self, source: QuestionSource, question: PendingQuestion, session: BrowserSession) -> str:
        where = escape_line(f"{source.name} · {question.digest[:12]}")
        return (
            f'<a class="card" href="/approvals/{self._link_to(source, question, session)}"><h2>'
            f"{escape_line(question.title or format_tool_name(question.tool))}</h2>"
            f'<code>{escape_line(describe_briefly(question))}</code><br><span class="quiet">{where}</span></a>'
        )

    async def _show_question(self, request: web.Request) -> web.Response:
        session, link = get_session(request), request.match_info["link"]
        target = self._links.find(link, session.csrf)
        if target is None:
            return _tell("This link was used, or is not for this browser.", status=_GONE)
        try:
            app, question = await self._find(target)
        except (NoAnswer, NotDone) as problem:
            return _tell(str(problem), status=_GONE)
        await app.note_seen(question)
        body = [
            '<body class="page"><p><a href="/approvals">All pending reviews</a></p>',
            *render_question(question),
            *_answer_forms(app, question, link, session),
            "</body>",
        ]
        return render_page(f"review of {format_tool_name(question.tool)}", body, style=_STYLE)

    async def _answer(self, request: web.Request) -> web.Response:
        session, form = get_session(request), await read_form(request)
        check_form(form, session)
        target = self._links.redeem(request.match_info["link"], session.csrf)
        if target is None:
            return _tell("This link was used, or is not for this browser. Nothing was decided.", status=_GONE)
        decision, digest = form.get("decision"), form.get("digest")
        if decision not in ("approve", "reject", "discard") or digest != target.digest:
            return _tell("The form is about something else. Nothing was decided.", status=400)
        reason, then = form.get("reason", "").strip()[:_LONGEST_REASON], ""
        try:
            app, question = await self._find(target)
            if question.effects is not None and isinstance(app, InboxQuestions) and decision != "reject":
                _check_approvable(app, question)
                await app.answer_effects(target.digest, read_effects_answer(form, question.effects.names))
            elif decision == "discard":
                raise NotDone("only changes in a layer can be discarded")
            elif decision == "approve":
                _check_approvable(app, question)
                if question.kind == "question":
                    await app.reply(target.digest, reason)
                else:
                    then = await app.approve(question)
            else:
                await app.reject(target.digest, reason)
        except (NoAnswer, NotDone) as problem:
            return _tell(f"Nothing was decided: {problem}", status=409)
        accepted = (
            "answered" if question.kind == "question" else "said yes to" if question.signing else "approved"
        )
        done = {"approve": accepted, "discard": "discarded"}.get(decision, "rejected")
        complain([f"{done} on the page of pending reviews: {question.tool}, packet {question.digest}"])
        more = f": {then}" if then else ""
        return _tell(f"You have {done} {format_tool_name(question.tool)}, packet {question.digest[:12]}{more}.")

    async def _find(self, target: DecisionTarget) -> tuple[QuestionSource, PendingQuestion]:
        """Who asks, and the question if it is still the one that was meant. Raises NoAnswer and NotDone."""
        for source in self._list_sources(self._list_apps()):
            if source.name == target.app:
                question = await source.find_question(target.digest)
                if question is None:
                    raise NotDone("this review is no longer open; what is asked now is in the list")
                return source, question
        raise NotDone("the app has ended")

    async def _show_tab(self, request: web.Request) -> web.Response:
        session, form = get_session(request), await read_form(request)
        check_form(form, session)
        for app in self._list_apps():
            if app.name == form.get("app"):
                try:
                    await app.show_tab(form.get("tab", ""))
                except (NoAnswer, NotDone) as problem:
                    return _tell(str(problem), status=409)
        raise web.HTTPSeeOther("/approvals")


def check_form(form: Mapping[str, str], session: BrowserSession) -> None:
    if not hmac.compare_digest(form.get("csrf", "").encode(), session.csrf.encode()):
        raise web.HTTPForbidden(text="this form is not from a page of this server")


def _check_approvable(app: QuestionSource, question: PendingQuestion) -> None:
    if problem := _explain_approval_problem(app, question):
        raise NotDone(problem)


def _explain_approval_problem(app: QuestionSource, question: PendingQuestion) -> str:
    """Why a question can only be rejected here; empty where it can be approved."""
    if question.kind not in ("review", "question"):
        return "only calls can be approved here; answer this question at the keyboard"
    if not app.can_approve:
        return "this page was given no token for approving (--token-fd); approve at the keyboard"
    if not is_complete(question):
        return "it is too long to be shown here in full; approve at the keyboard"
    return ""


def _answer_forms(
    app: QuestionSource, question: PendingQuestion, link: str, session: BrowserSession
) -> Iterable[str]:
    hidden = (
        f'<input type="hidden" name="csrf" value="{session.csrf}">'
        f'<input type="hidden" name="digest" value="{escape_line(question.digest)}">'
    )
    if question.kind == "question":
        yield from _reply_forms(app, question, link, hidden)
        return
    if (effects := question.effects) is not None:
        yield from render_effects_forms(effects.names, _explain_approval_problem(app, question), link, hidden)
        return
    yield (
        f'<form method="post" action="/approvals/{link}">{hidden}<input type="hidden" name="decision" '
        'value="reject"><label for="reason">Reason, for the model (optional)</label><input id="reason" '
        f'name="reason" maxlength="{_LONGEST_REASON}" autocomplete="off"><button class="reject">Reject</button>'
        "</form>"
    )
    if problem := _explain_approval_problem(app, question):
        yield f'<p class="said">{escape_line(problem)}</p>'
        return
    verb = "Sign" if question.signing else "Approve"
    yield (
        f'<form method="post" action="/approvals/{link}">{hidden}<input type="hidden" name="decision" '
        f'value="approve"><button class="approve">{verb} packet {escape_line(question.digest[:12])}</button>'
        "</form>"
    )


def render_effects_forms(names: EffectNames, problem: str, link: str, hidden: str) -> Iterator[str]:
    """What is applied, line by line; words for the model, which goes on in the layer; and the end of it all."""
    head = f'<form method="post" action="/approvals/{link}">{hidden}<input type="hidden" name="decision" value='
    if problem:
        yield f'<p class="said">{escape_line(problem)}</p>'
    else:
        special = names.protected | names.conflicts
        lines = [(row in special, _effect_line(place, row, names)) for place, row in enumerate(names.rows)]
        first, rest = (
            "".join(line for is_first, line in lines if is_first is wanted) for wanted in (True, False)
        )
        if len(lines) > _MOST_OPEN:
            rest = f"<details><summary>{format_amount(len(lines), 'line')}</summary>{rest}</details>"
        yield (
            f'{head}"approve"><fieldset class="lines"><legend>What is applied</legend>{first}{rest}</fieldset>'
            '<button class="approve">Apply what is ticked</button></form>'
        )
    yield (
        f'{head}"reject"><label for="reason">Words for the model, which goes on in the layer (without any, the '
        f'changes stay there)</label><input id="reason" name="reason" maxlength="{_LONGEST_REASON}" '
        'autocomplete="off"><button class="reject">Apply nothing</button></form>'
    )
    yield (
        f'{head}"discard"><label class="line"><input type="checkbox" name="sure" required>Drop all changes for '
        'good</label><button class="reject">Discard</button></form>'
    )


def _effect_line(place: int, row: str, names: EffectNames) -> str:
    is_protected = row in names.protected
    remark = ' <span class="danger">protected: it can act on its own</span>' if is_protected else ""
    ticked = "" if is_protected else " checked"
    line = (
        f'<label class="line"><input type="checkbox" name="{_TAKE}{place}"{ticked}>'
        f"<code>{escape_line(row)}</code>{remark}</label>"
    )
    if row not in names.conflicts:
        return line
    return (
        f'{line}<label class="line inner"><input type="checkbox" name="{_REPLACE}{place}">replace what '
        "was changed there in the folder</label>"
    )


def read_effects_answer(form: Mapping[str, str], names: EffectNames) -> EffectsAnswer:
    """What such a form says about these lines."""
    if form.get("decision") == "discard":
        return EffectsAnswer(discards=True)
    taken = {row for place, row in enumerate(names.rows) if f"{_TAKE}{place}" in form}
    replaced = {row for place, row in enumerate(names.rows) if f"{_REPLACE}{place}" in form}
    return EffectsAnswer(
        left_out=tuple(row for row in names.rows if row not in taken and row not in names.protected),
        included=tuple(row for row in names.rows if row in taken and row in names.protected),
        overwritten=tuple(row for row in names.rows if row in replaced),
    )


def _reply_forms(app: QuestionSource, question: PendingQuestion, link: str, hidden: str) -> Iterable[str]:
    """A line for the number of an option or other words, and a way to answer nothing."""
    yield (
        f'<form method="post" action="/approvals/{link}">{hidden}<input type="hidden" name="decision" '
        'value="reject"><button class="reject">No answer</button></form>'
    )
    if problem := _explain_approval_problem(app, question):
        yield f'<p class="said">{escape_line(problem)}</p>'
        return
    yield (
        f'<form method="post" action="/approvals/{link}">{hidden}<input type="hidden" name="decision" '
        'value="approve"><label for="reason">The number of an option, or your own words</label><input '
        f'id="reason" name="reason" required maxlength="{_LONGEST_REASON}" autocomplete="off">'
        '<button class="approve">Answer</button></form>'
    )


def _render_tab_form(app: RemoteApp, tab: WaitingTab, session: BrowserSession) -> str:
    return (
        f'<form class="card" method="post" action="/approvals/show"><h2>{escape_line(tab.title)}</h2>'
        '<p class="quiet">A tab in the background needs an answer. Its question opens once it is in front.</p>'
        f'<input type="hidden" name="csrf" value="{session.csrf}">'
        f'<input type="hidden" name="app" value="{escape_line(app.name)}">'
        f'<input type="hidden" name="tab" value="{escape_line(tab.tab)}">'
        '<button class="main">Bring it to the front</button></form>'
    )


def _tell(sentence: str, *, status: int = 200) -> web.Response:
    body = (
        f'<body class="page"><h1>quorum</h1><p class="said" role="status">{escape_line(sentence)}</p>'
        '<p><a href="/approvals">All pending reviews</a></p></body>'
    )
    response = render_page("quorum", [body], style=_STYLE)
    response.set_status(status)
    return response
