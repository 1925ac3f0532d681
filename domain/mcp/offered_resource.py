"""A resource as an MCP server lists it, and what a prompt names it by."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.text.printable import make_printable

MOST_RESOURCES = 500
"""How many resources of one server are offered for completion. Each that it has can be named."""

_LONGEST_ADDRESS = 500
_LONGEST_DESCRIPTION = 120


class OfferedResource(Struct, frozen=True, kw_only=True):
    """`uri` is an address, or its beginning where `is_template`: the rest is for the person to type, as the
    whole `template` has it."""

    server: str
    uri: str
    description: str = ""
    is_template: bool = False
    template: str = ""

    @property
    def mention(self) -> str:
        """What stands behind the `@` of a prompt: `SERVER:URI`."""
        return f"{self.server}:{self.uri}"


def make_offered_resource(
    server: str, uri: str, description: str, *, is_template: bool = False
) -> OfferedResource | None:
    """The resource, with its description on one line; a template up to its first gap. None for an address that
    cannot be shown as it is, or is longer than 500 characters."""
    if not uri.isprintable() or len(uri) > _LONGEST_ADDRESS or "://" not in uri:
        return None
    text = make_printable(" ".join(description.split()), newlines=False)[:_LONGEST_DESCRIPTION]
    begun = uri.partition("{")[0] if is_template else uri
    template = uri if is_template else ""
    return OfferedResource(
        server=server, uri=begun, description=text, is_template=is_template, template=template
    )
