"""How a packet differs from the one that was approved before."""

from __future__ import annotations

import json
from collections.abc import Iterator

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.seal import Seal
from quorum.domain.text.ages import shorten_home
from quorum.domain.text.json_value import JsonObject
from quorum.tui.screens.review.text.rows import shorten_digest


def describe_changes(before: ReviewPacket, now: ReviewPacket) -> tuple[str, ...]:
    """In words, how a packet differs from the one before; empty where it does not."""
    return tuple(_render_changes(before, now))


def _render_changes(before: ReviewPacket, now: ReviewPacket) -> Iterator[str]:
    old, new = before.seal, now.seal
    yield from _list_changed_arguments(before.call.arguments, now.call.arguments)
    yield from _list_changed_files(old, new)
    if old.diff != new.diff and old.files == new.files:
        yield "the diff"
    if old.cwd != new.cwd:
        yield f"the folder, which was {shorten_home(old.cwd)}"
    if old.executables != new.executables:
        yield f"the programs, which were {', '.join(old.executables) or 'none'}"
    if names := [name for name in {**old.environment, **new.environment} if _differs(name, old, new)]:
        yield f"the environment: {', '.join(names)}"
    if old.sandbox != new.sandbox:
        yield f"the sandbox, which was: {old.sandbox or 'none'}"
    if old.unsealed != new.unsealed:
        yield "what is not sealed"


def _list_changed_arguments(before: JsonObject, now: JsonObject) -> Iterator[str]:
    for name in {**before, **now}:
        if name not in before:
            yield f"{name}, which was not there"
        elif name not in now or before[name] != now[name]:
            yield f"{name}, which was {json.dumps(before[name], ensure_ascii=False)}"


def _list_changed_files(before: Seal, now: Seal) -> Iterator[str]:
    were = {file.path: file.sha256 for file in before.files}
    are = {file.path: file.sha256 for file in now.files}
    for path in {**were, **are}:
        if path not in are:
            yield f"{shorten_home(path)} is no longer touched"
        elif path not in were:
            yield f"{shorten_home(path)} is touched as well"
        elif were[path] != are[path]:
            yield f"{shorten_home(path)} ({_shorten_hash(were[path])} → {_shorten_hash(are[path])})"


def _differs(name: str, before: Seal, now: Seal) -> bool:
    old, new = before.environment, now.environment
    return (name in old, old.get(name)) != (name in new, new.get(name))


def _shorten_hash(sha256: str | None) -> str:
    return "no file" if sha256 is None else f"sha {shorten_digest(sha256)}"
