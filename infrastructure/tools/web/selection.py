"""Which web tools there are: none, unless the settings ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from msgspec import Struct

from application.ports.tools import Tool
from domain.errors import ConfigError

if TYPE_CHECKING:
    from infrastructure.tools.web.search_services import SearchService

SearchName: TypeAlias = Literal["", "searxng", "brave"]


class WebSettings(Struct, frozen=True, kw_only=True):
    """What the person allows. An empty `search` is no search; `search_key_env` names a variable."""

    fetch: bool
    search: SearchName
    search_url: str
    search_key_env: str
    max_bytes: int
    timeout_secs: float


# What the tools are made of is imported only where they are wanted: most sessions start without the web.


def build_web_fetch(settings: WebSettings) -> Tool | None:
    """The tool that gets pages, where the settings ask for it."""
    if not settings.fetch:
        return None
    from infrastructure.tools.web.address_guard import AddressGuard
    from infrastructure.tools.web.fetching import WebFetch
    from infrastructure.tools.web.retrieval import Retrieval

    return WebFetch(Retrieval(AddressGuard(), max_bytes=settings.max_bytes, timeout_secs=settings.timeout_secs))


def build_web_search(settings: WebSettings, environ: Mapping[str, str]) -> Tool | None:
    """The tool that asks a search service, where the settings name one. Raises ConfigError where the service
    lacks its address or key."""
    service = _build_search_service(settings, environ)
    if service is None:
        return None
    from infrastructure.tools.web.searching import WebSearch

    return WebSearch(service, max_bytes=settings.max_bytes, timeout_secs=settings.timeout_secs)


def _build_search_service(settings: WebSettings, environ: Mapping[str, str]) -> SearchService | None:
    if not settings.search:
        return None
    from infrastructure.tools.web.search_services import Brave, SearXng

    match settings.search:
        case "searxng":
            if not settings.search_url:
                raise ConfigError(
                    'tools.web.search = "searxng" needs tools.web.search_url, the address of your instance, '
                    'for example "http://localhost:8888"'
                )
            return SearXng(settings.search_url)
        case "brave":
            return Brave(settings.search_url, _read_key(settings, environ), settings.search_key_env)
        case _:
            assert_never(settings.search)


def _read_key(settings: WebSettings, environ: Mapping[str, str]) -> str:
    if not settings.search_key_env:
        raise ConfigError(
            f'tools.web.search = "{settings.search}" needs tools.web.search_key_env, the name of the '
            "environment variable that holds your key"
        )
    key = environ.get(settings.search_key_env, "").strip()
    if not key or not (key.isascii() and key.isprintable()):
        state = "holds characters that no key has" if key else "is not set"
        raise ConfigError(
            f"the environment variable {settings.search_key_env} {state}; tools.web.search = "
            f'"{settings.search}" needs it to hold your key'
        )
    return key
