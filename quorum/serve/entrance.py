"""How a browser is admitted: by the link that works once, or by the password."""

from __future__ import annotations

import asyncio

from aiohttp import web

from quorum.errors import complain
from quorum.serve.access import FailedTries, SingleUseToken
from quorum.serve.forms import read_form
from quorum.serve.html import escape, render_page
from quorum.serve.password import PasswordHash
from quorum.serve.request_checks import RequestChecks

_STYLE = "page.css"


class Entrance:
    """Lets browsers in by the password if there is one, else by the token."""

    def __init__(self, checks: RequestChecks, token: SingleUseToken, password: PasswordHash | None) -> None:
        self._checks, self._token, self._password = checks, token, password
        self._tries = FailedTries()
        self._one_at_a_time = asyncio.Lock()  # each comparison of a password takes 32 MB

    def add_routes(self, app: web.Application) -> None:
        """Serve what browsers may ask for that are not admitted."""
        app.router.add_get("/enter", self._enter, allow_head=False)
        app.router.add_get("/login", self._show, allow_head=False)
        app.router.add_post("/login", self._log_in)

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        if self._password is not None:
            raise web.HTTPSeeOther("/login")
        if "Sec-Purpose" in request.headers or "Purpose" in request.headers:
            raise web.HTTPForbidden(text="this link is not for fetching ahead")  # it would be used up
        self._check_patience(request)
        if not self._token.redeem(request.query.get("token", "")):
            self._tries.note(request.remote or "")
            complain(["a browser came with a link that is wrong or was used; it was not admitted"])
            return self._explain(web.HTTPForbidden.status_code)
        complain(["a browser has used the link; it works no more"])
        # Not a redirection: after one the cookie would be withheld where the link was opened from another page.
        body = '<body class="page"><p><a href="/">Continue</a></p></body>'
        entered = render_page(
            "quorum", [body], style=_STYLE, head='<meta http-equiv="refresh" content="0;url=/">\n'
        )
        self._checks.let_in(entered)
        return entered

    async def _show(self, _request: web.Request) -> web.StreamResponse:
        return self._explain() if self._password is None else _render_form("")

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        if self._password is None:
            raise web.HTTPNotFound(text="there is no password")
        self._check_patience(request)
        given = (await read_form(request)).get("password", "")
        async with self._one_at_a_time:
            self._check_patience(request)  # those that waited for their turn count as well
            is_right = await asyncio.to_thread(self._password.matches, given)
            if not is_right:
                self._tries.note(request.remote or "")
        if not is_right:
            complain([f"a wrong password was given from {request.remote}"])
            return _render_form("This is not the password.", status=web.HTTPForbidden.status_code)
        complain([f"a browser at {request.remote} has logged in"])
        entered = web.Response(status=web.HTTPSeeOther.status_code, headers={"Location": "/"})
        self._checks.let_in(entered)
        return entered

    def _check_patience(self, request: web.Request) -> None:
        if secs := self._tries.wait_secs(request.remote or ""):
            raise web.HTTPTooManyRequests(
                text=f"too many failed tries; wait {secs} s", headers={"Retry-After": str(secs)}
            )

    def _explain(self, status: int = 200) -> web.Response:
        used = "has been used" if self._token.is_used else "has not been used yet"
        body = (
            '<body class="page"><h1>quorum</h1><p>This page opens by the link that <code>quorum serve</code> '
            f'printed. The link works once, and it {used}.</p><p>Are you admitted already: <a href="/">'
            "continue</a>. For another link, end <code>quorum serve</code> and start it again: "
            "sessions are kept.</p></body>"
        )
        response = render_page("quorum", [body], style=_STYLE)
        response.set_status(status)
        return response


def _render_form(problem: str, *, status: int = 200) -> web.Response:
    problem_text = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    body = (
        '<body class="page"><h1>quorum</h1><form method="post" action="/login">'
        f'{problem_text}<label>Password <input type="password" name="password" autocomplete="current-password" '
        'required autofocus></label><button class="main">Log in</button></form></body>'
    )
    response = render_page("quorum", [body], style=_STYLE)
    response.set_status(status)
    return response
