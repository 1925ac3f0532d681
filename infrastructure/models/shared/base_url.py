"""What a provider's base_url should be, where the server does not know the address that was made of it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_VERSION = "/v1"
# What SDKs add to base_url. It is often pasted with it, as servers' documentation shows the whole address.
_METHOD = re.compile(r"(?:/chat/completions|/completions|/responses|/messages|/models|/embeddings)$")


def suggest_base_url(address: str, path: str) -> str | None:
    """The base_url that was meant, where this one holds too much or too little; None where it looks right.

    `path` is what is added to it, as in "/chat/completions"; where that begins with the version, base_url ends
    before it.
    """
    parts = urlsplit(address)
    given = parts.path.rstrip("/")
    base = _METHOD.sub("", given)
    if path.startswith(f"{_VERSION}/"):
        given, base = given.removesuffix(_VERSION), base.removesuffix(_VERSION)  # either way the same is asked
    elif not base:
        base = _VERSION
    return None if base == given else f"{parts.scheme}://{parts.netloc}{base}"


def explain_base_url(provider: str, address: str, path: str) -> str:
    """The remedy for an address that the server does not know."""
    where = f"base_url of [providers.{provider}]"
    if not path:
        return f"check {where}"
    if (meant := suggest_base_url(address, path)) is not None:
        return f'check {where}: {path} is added to it, so it is probably "{meant}"'
    end = "ends before that" if path.startswith(f"{_VERSION}/") else f"mostly ends in {_VERSION}"
    return f"check {where}: {path} is added to it, and it {end}"
