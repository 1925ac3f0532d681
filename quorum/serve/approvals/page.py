"""The page of pending reviews: a list, one page for each question, and its answer. It needs no script.

An answer goes where the remote control takes answers: to the open dialog of the app, by its digest. Nothing is
decided or run here.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping

from aiohttp import web

from quorum.errors import complain
from quorum.rpc.client import NoAnswer
from quorum.serve.access import BrowserSession
from quorum.serve.approvals.decision_links import DecisionLinks, DecisionTarget
from quorum.serve.approvals.pending import AppRefused, PendingQuestion, RemoteApp
from quorum.serve.approvals.rendering import describe_briefly, is_complete, render_question
from quorum.serve.forms import read_form
from quorum.serve.html import escape_line, render_page
from quorum.serve.request_checks import get_session

_STYLE = "page.css"
_REFRESH = '<meta http-equiv="refresh" content="5">\n'
_LONGEST_REASON = 2000
_GONE = web.HTTPGone.status_code


class ApprovalsPage:
    """Shows the questions of the apps that `list_apps` names at the time."""

    def __init__(self, list_apps: Callable[[], Iterable[RemoteApp]]) -> None:
        self._list_apps = list_apps
        self._links = DecisionLinks()

    def add_routes(self, app: web.Application) -> None:
        """Serve the list and the links."""
        app.router.add_get("/approvals", self._show_list, allow_head=False)
        app.router.add_post("/approvals/show", self._show_tab)
        app.router.add_get("/approvals/{link}", self._show_question, allow_head=False)
        app.router.add_post("/approvals/{link}", self._answer)

    async def _show_list(self, request: web.Request) -> web.Response:
        session = get_session(request)
        cards: list[str] = []
        apps = list(self._list_apps())
        for app in apps:
            try:
                if (question := await app.find_question()) is not None:
                    cards.append(self._render_card(app, question, session))
                cards += [
                    _render_tab_form(app, tab.tab, tab.title, session) for tab in await app.list_waiting_tabs()
                ]
            except (NoAnswer, AppRefused) as problem:
                cards.append(f'<p class="problem">{escape_line(app.name)}: {escape_line(str(problem))}</p>')
        nothing = "no quorum runs that this page could ask" if not apps else "nothing waits for an answer"
        body = [
            '<body class="page"><h1>Pending reviews</h1>',
            *(cards or [f'<p class="said">{nothing}</p>']),
            '<p class="quiet">This page looks again every five seconds.</p></body>',
        ]
        return render_page("pending reviews", body, style=_STYLE, head=_REFRESH)

    def _render_card(self, app: RemoteApp, question: PendingQuestion, session: BrowserSession) -> str:
        target = DecisionTarget(csrf=session.csrf, app=app.name, digest=question.digest)
        return (
            f'<a class="card" href="/approvals/{self._links.link_to(target)}"><h2>'
            f"{escape_line(question.tool)}</h2><code>{escape_line(describe_briefly(question))}</code>"
            f'<br><span class="quiet">{escape_line(app.name)} · {escape_line(question.digest[:12])}</span></a>'
        )

    async def _show_question(self, request: web.Request) -> web.Response:
        session, link = get_session(request), request.match_info["link"]
        target = self._links.find(link, session.csrf)
        if target is None:
            return _tell("This link was used, or is not for this browser.", status=_GONE)
        try:
            app, question = await self._find(target)
        except (NoAnswer, AppRefused) as problem:
            return _tell(str(problem), status=_GONE)
        body = [
            '<body class="page"><p><a href="/approvals">All pending reviews</a></p>',
            *render_question(question),
            *_answer_forms(app, question, link, session),
            "</body>",
        ]
        return render_page(f"review of {question.tool}", body, style=_STYLE)

    async def _answer(self, request: web.Request) -> web.Response:
        session, form = get_session(request), await read_form(request)
        _check_form(form, session)
        target = self._links.redeem(request.match_info["link"], session.csrf)
        if target is None:
            return _tell("This link was used, or is not for this browser. Nothing was decided.", status=_GONE)
        decision, digest = form.get("decision"), form.get("digest")
        if decision not in ("approve", "reject") or digest != target.digest:
            return _tell("The form is about something else. Nothing was decided.", status=400)
        try:
            app, question = await self._find(target)
            if decision == "approve":
                _check_approvable(app, question)
                await app.approve(target.digest)
            else:
                await app.reject(target.digest, form.get("reason", "").strip()[:_LONGEST_REASON])
        except (NoAnswer, AppRefused) as problem:
            return _tell(f"Nothing was decided: {problem}", status=409)
        done = "approved" if decision == "approve" else "rejected"
        complain([f"{done} on the page of pending reviews: {question.tool}, packet {question.digest}"])
        return _tell(f"You have {done} {question.tool}, packet {question.digest[:12]}.")

    async def _find(self, target: DecisionTarget) -> tuple[RemoteApp, PendingQuestion]:
        """The app, and its question if it is still the one that was meant. Raises NoAnswer and AppRefused."""
        for app in self._list_apps():
            if app.name == target.app:
                question = await app.find_question()
                if question is None or question.digest != target.digest:
                    raise AppRefused("this review is no longer open; what is asked now is in the list")
                return app, question
        raise AppRefused("the app has ended")

    async def _show_tab(self, request: web.Request) -> web.Response:
        session, form = get_session(request), await read_form(request)
        _check_form(form, session)
        for app in self._list_apps():
            if app.name == form.get("app"):
                try:
                    await app.show_tab(form.get("tab", ""))
                except (NoAnswer, AppRefused) as problem:
                    return _tell(str(problem), status=409)
        raise web.HTTPSeeOther("/approvals")


def _check_form(form: Mapping[str, str], session: BrowserSession) -> None:
    if not hmac.compare_digest(form.get("csrf", "").encode(), session.csrf.encode()):
        raise web.HTTPForbidden(text="this form is not from a page of this server")


def _check_approvable(app: RemoteApp, question: PendingQuestion) -> None:
    if problem := _explain_approval_problem(app, question):
        raise AppRefused(problem)


def _explain_approval_problem(app: RemoteApp, question: PendingQuestion) -> str:
    """Why a question can only be rejected here; empty where it can be approved."""
    if question.kind != "review":
        return "only calls can be approved here; answer this question at the keyboard"
    if not app.can_approve:
        return "this page was given no token for approving (--token-fd); approve at the keyboard"
    if not is_complete(question):
        return "it is too long to be shown here in full; approve at the keyboard"
    return ""


def _answer_forms(
    app: RemoteApp, question: PendingQuestion, link: str, session: BrowserSession
) -> Iterable[str]:
    hidden = (
        f'<input type="hidden" name="csrf" value="{session.csrf}">'
        f'<input type="hidden" name="digest" value="{escape_line(question.digest)}">'
    )
    yield (
        f'<form method="post" action="/approvals/{link}">{hidden}<input type="hidden" name="decision" '
        'value="reject"><label for="reason">Reason, for the model (optional)</label><input id="reason" '
        f'name="reason" maxlength="{_LONGEST_REASON}" autocomplete="off"><button class="reject">Reject</button>'
        "</form>"
    )
    if problem := _explain_approval_problem(app, question):
        yield f'<p class="said">{escape_line(problem)}</p>'
        return
    yield (
        f'<form method="post" action="/approvals/{link}">{hidden}<input type="hidden" name="decision" '
        f'value="approve"><button class="approve">Approve packet {escape_line(question.digest[:12])}</button>'
        "</form>"
    )


def _render_tab_form(app: RemoteApp, tab: str, title: str, session: BrowserSession) -> str:
    return (
        f'<form class="card" method="post" action="/approvals/show"><h2>{escape_line(title)}</h2>'
        '<p class="quiet">A tab in the background needs an answer. Its question opens once it is in front.</p>'
        f'<input type="hidden" name="csrf" value="{session.csrf}">'
        f'<input type="hidden" name="app" value="{escape_line(app.name)}">'
        f'<input type="hidden" name="tab" value="{escape_line(tab)}">'
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
