"""Sends to all subscribed browsers that a decision waits. Source: RFC 8030."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress

import httpx2

from quorum.application.review.pushing import PushMessage
from quorum.domain.errors import ConfigError, PushFailed
from quorum.domain.text.amounts import format_size
from quorum.infrastructure.http_client import HttpClient
from quorum.infrastructure.tools.web.retrieval import build_failure
from quorum.infrastructure.web_push.browsers import MOST_BYTES, Browser, PushBrowsers, ServerKey, encrypt

_LIMIT_SECS = 10.0
_KEPT_SECS = 60 * 60
"""So long a push service keeps a message for a browser that is away."""
_TOPIC_CHARACTERS = 32
_GONE = (404, 410)


def encode_message(message: PushMessage, link: str) -> bytes:
    """What `push-worker.js` shows."""
    told = {"title": "quorum", "text": message.text, "tag": message.digest, "link": link}
    return json.dumps(told).encode()


async def push_to_browsers(browsers: PushBrowsers, message: PushMessage, link: str) -> None:
    """Raises ConfigError, and PushFailed where no browser could be told."""
    subscribed = await asyncio.to_thread(browsers.list)
    if not subscribed:
        raise PushFailed("no browser is subscribed: open /approvals/notify of quorum serve --approvals")
    key = await asyncio.to_thread(browsers.find_key)
    body = encode_message(message, link)
    if len(body) > MOST_BYTES:
        raise PushFailed(f"push services take {format_size(MOST_BYTES)} at most: shorten link in [[push]]")
    async with HttpClient(timeout=_LIMIT_SECS, head_secs=_LIMIT_SECS) as client:
        outcomes = await asyncio.gather(
            *(_send(client, browsers, each, key, body, message.digest) for each in subscribed)
        )
    problems = [outcome for outcome in outcomes if outcome]
    if len(problems) == len(subscribed):
        raise PushFailed("; ".join(dict.fromkeys(problems)))


async def _send(
    client: HttpClient, browsers: PushBrowsers, browser: Browser, key: ServerKey, body: bytes, digest: str
) -> str:
    """Why one browser could not be told, empty where it was. One that is gone is forgotten."""
    if problem := browser.find_problem():
        return problem
    headers = {
        "Authorization": key.authorize(browser.service, browser.contact, time.time()),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(_KEPT_SECS),
        "Topic": digest[:_TOPIC_CHARACTERS],  # what was not delivered about the same decision gives way
        "Urgency": "high",
    }
    sealed = encrypt(body, browser.p256dh, browser.auth)
    try:
        # What an answer holds beside its head is not read: it may be long, or never end.
        async with client.stream("POST", browser.endpoint, content=sealed, headers=headers) as answer:
            pass
    except httpx2.HTTPError as error:
        return str(build_failure(error, browser.service))
    except (httpx2.InvalidURL, ValueError):
        return f"the address at {browser.service} cannot be used"
    if answer.status_code in _GONE:
        with suppress(ConfigError):  # next time it is gone still
            await asyncio.to_thread(browsers.remove, browser.endpoint)
        return f"{browser.service} knows the browser no more"
    return "" if answer.is_success else f"{browser.service} answered {answer.status_code}"
