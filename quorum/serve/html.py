"""HTML of all pages and the forms that browsers send: whatever is put into a page is escaped here.

Nothing else makes pages.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from aiohttp import web

from quorum.domain.text.printable import collapse_blanks, make_printable


def escape(text: str) -> str:
    """Text of anybody as text of a page: nothing in it is markup, and what could hide is shown."""
    return html.escape(make_printable(text))


def escape_line(text: str) -> str:
    """The same for text that is to stay on one line."""
    return html.escape(collapse_blanks(make_printable(text, newlines=False)))


def render_page(title: str, body: Iterable[str], *, style: str, head: str = "") -> web.Response:
    """A page. `body` and `head` are markup, `style` is the name of a file of ours."""
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape_line(title)}</title>\n<link rel="icon" href="data:,">\n'
        f'<link rel="stylesheet" href="/static/{style}">\n{head}</head>\n'
        f"{''.join(body)}\n</html>\n"
    )
    # A file's name may hold half a surrogate pair; `make_printable` shows those, this is the last resort.
    return web.Response(body=text.encode("utf-8", "replace"), content_type="text/html", charset="utf-8")


_KIND = "application/x-www-form-urlencoded"
_ENCODING = "utf-8"  # others know half a surrogate pair, which nothing could keep


async def read_form(request: web.Request) -> Mapping[str, str]:
    """The fields of a form; of two with one name the first. Raises HTTPBadRequest for what is no form."""
    if request.content_type != _KIND or (request.charset or _ENCODING).lower() != _ENCODING:
        raise web.HTTPBadRequest(text="this is no form of this server")
    try:
        fields = await request.post()
    except ValueError as error:  # no text
        raise web.HTTPBadRequest(text="this form cannot be read") from error
    return {name: text for name in fields if isinstance(text := fields[name], str)}
