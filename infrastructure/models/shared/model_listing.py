"""The models that a provider lists: reading the pages of its list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import httpx2
from msgspec import Struct

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.models.shared.error_bodies import find_error
from quorum.infrastructure.models.shared.failures import Failures
from quorum.infrastructure.models.shared.json_fields import read_text_field

MOST_MODELS = 1_000
_LONGEST_NAME = 300
_LONGEST_PAGE = 16_000_000
_NO_SUCH_ADDRESS = (404, 405, 501)


class ModelPage(Struct, frozen=True):
    """Names of models, and the id after which the next page begins; None where this is the last."""

    names: tuple[str, ...]
    next_after: str | None = None


async def read_all_pages(page_after: Callable[[str | None], Awaitable[ModelPage]]) -> tuple[str, ...]:
    """The names on all pages, each once, in the provider's order; at most MOST_MODELS of them."""
    names: dict[str, None] = {}
    after: str | None = None
    while len(names) < MOST_MODELS:
        known = len(names)
        page = await page_after(after)
        names |= dict.fromkeys(page.names)
        after = page.next_after
        if after is None or len(names) == known:  # a server may say for ever that there is more
            break
    return tuple(names)[:MOST_MODELS]


async def read_page(body: AsyncIterator[bytes], failures: Failures) -> ModelPage:
    """Read one page of a list, leaving out what can be no model's name.

    Raises ProviderError where it is no list, and httpx2.HTTPError where the connection fails.
    """
    text = bytearray()
    try:
        async with asyncio.timeout(failures.timeout_secs):
            async for piece in body:
                text += piece
                if len(text) > _LONGEST_PAGE:
                    raise failures.explain_damage("the list of models is too long to be one", started=False)
    except TimeoutError as error:
        what = f"the list of models had no end after {failures.timeout_secs:g} s"
        raise failures.explain_damage(what, started=False) from error
    try:
        value: JsonValue = json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise _build_no_list(failures) from error
    entries = value.get("data", ()) if isinstance(value, Mapping) else value
    if entries is None:  # what Ollama says for an empty list
        return ModelPage(())
    if not isinstance(entries, list):
        reported_error = find_error(bytes(text))
        raise (
            failures.explain_reported(reported_error, started=False)
            if reported_error
            else _build_no_list(failures)
        )
    ids = (read_text_field(entry, "id") for entry in entries if isinstance(entry, Mapping))
    return ModelPage(tuple(filter(_is_name, ids)), _find_next_page(value))


def explain_listing_refusal(response: httpx2.Response, failures: Failures) -> ProviderError:
    """What an HTTP status other than success means for a list. The body must have been read."""
    if response.status_code in _NO_SUCH_ADDRESS:
        return build_no_listing(failures.provider, status=response.status_code)
    return failures.explain_refusal(response)


def build_no_listing(provider: str, *, status: int | None = None) -> ProviderError:
    """The provider has no list of its models, which is no obstacle to using one of them."""
    return ProviderError(
        f"{provider} lists no models; any name can still be typed, as {provider}/NAME",
        kind=ProviderErrorKind.NOT_FOUND,
        status=status,
    )


def _find_next_page(page: JsonValue) -> str | None:
    if not isinstance(page, Mapping) or page.get("has_more") is not True:
        return None
    return read_text_field(page, "last_id") or None


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NAME and text.isprintable() and not text.isspace()


def _build_no_list(failures: Failures) -> ProviderError:
    return ProviderError(
        f"{failures.address} answered with something that is not a list of models; check base_url of provider "
        f"{failures.provider}",
        kind=ProviderErrorKind.BAD_REQUEST,
    )
