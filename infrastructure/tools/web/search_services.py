"""The search services that can be asked: how each wants its request, and how it words its answer."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from quorum.domain.errors import ToolError

Parameters: TypeAlias = Mapping[str, str]

MOST_RESULTS = 10
_LONGEST_SNIPPET = 400
_LONGEST_TITLE = 200
_LONGEST_URL = 1000
_TAG = re.compile(r"</?[a-z][^>]{0,100}>", re.IGNORECASE)


class SearchHit(Struct, frozen=True):
    """One result: plain text, each part on one line."""

    title: str
    url: str
    snippet: str


class SearchService(Protocol):
    """A service that answers searches as JSON over HTTP."""

    @property
    def name(self) -> str:
        """Its name, as in the settings."""
        ...

    @property
    def url(self) -> str:
        """The address that is asked."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What goes with every request."""
        ...

    def build_parameters(self, query: str) -> Parameters:
        """The query, as the service wants it."""
        ...

    def read_hits(self, answer: object) -> tuple[SearchHit, ...]:
        """The results in a decoded answer. Raises ToolError if it is not of the service's form."""
        ...

    def advise(self, status: int) -> str:
        """What a person can do about this HTTP status, or ""."""
        ...


class SearXng:
    """A SearXNG instance: GET URL/search?q=…&format=json, answered by {"results": [{title, url, content}]}."""

    name = "searxng"
    headers: Mapping[str, str] = {}

    def __init__(self, url: str) -> None:
        base = url.rstrip("/")
        self.url = base if base.endswith("/search") else f"{base}/search"

    def build_parameters(self, query: str) -> Parameters:
        """The query and the wish for JSON."""
        return {"q": query, "format": "json"}

    def read_hits(self, answer: object) -> tuple[SearchHit, ...]:
        """The results, best first."""
        return _read_hits(self.name, _read_field(answer, "results"), snippet="content")

    def advise(self, status: int) -> str:
        """A 403 mostly means that the instance does not offer JSON."""
        return "add json to search.formats in the instance's settings.yml" if status == 403 else ""


class Brave:
    """The Brave Search API: GET with the key in X-Subscription-Token, answered by
    {"web": {"results": [{title, url, description}]}}; without results there is no "web"."""

    name = "brave"
    PUBLIC_URL = "https://api.search.brave.com/res/v1/web/search"

    def __init__(self, url: str, key: str, key_env: str) -> None:
        self.url = url or self.PUBLIC_URL
        self.headers: Mapping[str, str] = {"X-Subscription-Token": key}
        self._key_env = key_env

    def build_parameters(self, query: str) -> Parameters:
        """The query, and that no tags mark its words in the answer."""
        return {"q": query, "count": str(MOST_RESULTS), "text_decorations": "false"}

    def read_hits(self, answer: object) -> tuple[SearchHit, ...]:
        """The results, best first."""
        if isinstance(answer, Mapping) and "web" not in answer and answer.get("type") == "search":
            return ()
        return _read_hits(self.name, _read_field(_read_field(answer, "web"), "results"), snippet="description")

    def advise(self, status: int) -> str:
        """The key is wrong, or used up."""
        if status in (401, 403):
            return f"check the key in {self._key_env}"
        return "the quota of the key is used up for now" if status == 429 else ""


def _read_hits(service: str, results: object, *, snippet: str) -> tuple[SearchHit, ...]:
    if not isinstance(results, Sequence) or isinstance(results, str):
        raise ToolError(f"the answer of {service} holds no list of results; is the address that of {service}?")
    found = []
    for result in results:
        url = _read_field(result, "url")
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            title, text = _make_line(_read_field(result, "title")), _make_line(_read_field(result, snippet))
            found.append(SearchHit(title[:_LONGEST_TITLE] or url, url[:_LONGEST_URL], text[:_LONGEST_SNIPPET]))
    return tuple(found[:MOST_RESULTS])


def _read_field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def _make_line(value: object) -> str:
    """A piece of HTML text as one plain line."""
    return " ".join(html.unescape(_TAG.sub("", value)).split()) if isinstance(value, str) else ""
