"""Forms that browsers send."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

_KIND = "application/x-www-form-urlencoded"


async def read_form(request: web.Request) -> Mapping[str, str]:
    """The fields of a form; of two with one name the first. Raises HTTPBadRequest for what is no form."""
    if request.content_type != _KIND:
        raise web.HTTPBadRequest(text="this is no form of this server")
    try:
        fields = await request.post()
    except (ValueError, LookupError) as error:  # no text, or of an unknown encoding
        raise web.HTTPBadRequest(text="this form cannot be read") from error
    return {name: text for name in fields if isinstance(text := fields[name], str)}
