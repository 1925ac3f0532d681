"""Streams of all dialects, and what can happen to them on the way. The same seed gives the same damage."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from random import Random
from typing import Any, TypeAlias

from tests.support.recordings import FOLDER
from tests.support.sse_server import Dialect, Say, ScriptedCall, scripted_events

_EVENT_END = re.compile(rb"\r?\n\r?\n")
_API_OF: dict[Dialect, str] = {"anthropic": "messages", "openai": "responses", "openai-chat": "chat"}
_LONGEST_RECORDING = 40_000

_SCRIPTS = (
    Say(
        reasoning="Let me see. 🐟",
        pieces=("I will ", "look at ä."),
        calls=(
            ScriptedCall("call_a", "read_file", '{"path": "ä/b.py"}'),
            ScriptedCall("call_b", "list_files", '{"path": "."}'),
        ),
        stop="tool_use",
    ),
    Say(
        pieces=("Removing it.",),
        calls=(ScriptedCall("call_c", "run_command", '{"command": "rm -r build", "timeout_secs": 5}'),),
        stop="tool_use",
    ),
    Say(
        pieces=("I cannot ", "go on"),
        calls=(ScriptedCall("call_d", "read_file", '{"path": "/etc/pa'),),
        stop="max_tokens",
    ),
    Say(reasoning="A word.", pieces=("Nothing ", "to", " do. 🐙")),
)


@dataclass(frozen=True, slots=True)
class Source:
    """An undamaged stream. `fragile`: no arguments of a call are JSON with any one of their pieces missing."""

    dialect: Dialect
    name: str
    body: bytes
    fragile: bool

    @property
    def events(self) -> list[bytes]:
        """Its events, without the empty lines between them."""
        return [event for event in _EVENT_END.split(self.body) if event]


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged stream. `description` says how it came about, `others` are the streams it was mixed with.

    `exact`: whatever calls it still holds must be those of the undamaged streams, to the letter.
    """

    source: Source
    body: bytes
    description: str
    exact: bool
    others: tuple[Source, ...] = ()


@cache
def sources(dialect: Dialect) -> tuple[Source, ...]:
    """The scripted streams, and the recorded ones where they are present."""
    scripted = (
        Source(dialect, f"script {number}", _numbered(dialect, say, number), fragile=True)
        for number, say in enumerate(_SCRIPTS)
    )
    return (*scripted, *_recorded(dialect))


def _numbered(dialect: Dialect, say: Say, number: int) -> bytes:
    """A scripted stream whose events tell, as those of the services do, to which answer they belong."""
    events = [event.removesuffix(b"\n\n") for event in scripted_events(dialect, say)]
    for place, event in enumerate(events):
        if isinstance(value := _json_of(event), dict):
            holder = value.get(
                {"anthropic": "message", "openai": "response", "openai-chat": ""}[dialect], value
            )
            if holder is not value or dialect == "openai-chat":
                holder["id"] = f"answer_{number}"
                events[place] = _with_json(event, value)
    return _joined(events)


def _recorded(dialect: Dialect) -> Iterator[Source]:
    for path in sorted((FOLDER / "dev").glob(f"*-{_API_OF[dialect]}-stream-*.jsonl")):
        for number, turn in enumerate(json.loads(path.read_text(encoding="utf-8"))["turns"]):
            body = turn["response"]["body"].encode()
            if b"data:" in body and len(body) <= _LONGEST_RECORDING:
                yield Source(dialect, f"{path.stem} turn {number}", body, fragile=False)


def damages(dialect: Dialect, seed: int, count: int) -> Iterator[Damage]:
    """So many damaged streams, the same for the same seed; a third of them recorded where there are any."""
    all_sources = sources(dialect)
    scripted = [source for source in all_sources if source.fragile]
    recorded = [source for source in all_sources if not source.fragile] or scripted
    for number in range(count):
        rng = Random(f"{dialect} {seed} {number}")
        source = rng.choice(recorded if rng.random() < 1 / 3 else scripted)
        yield _damaged(rng, source, scripted, f"seed {seed}, number {number}, {source.name}")


def _damaged(rng: Random, source: Source, scripted: list[Source], message: str) -> Damage:
    if source.fragile and rng.random() < 0.08:
        return _interleaved(rng, source, rng.choice(scripted), message)
    body, exact, losses = source.body, True, 0
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(tuple(_MUTATIONS))
        mutation = _MUTATIONS[name]
        if body:
            body, detail = mutation.apply(rng, body)
            message += f"; {name} {detail}"
        exact = exact and (mutation.exact or (mutation.exact_if_fragile and source.fragile))
        losses += mutation.exact_if_fragile
    return Damage(source, body, message, exact=exact and losses <= 1)


def _interleaved(rng: Random, one: Source, two: Source, message: str) -> Damage:
    if rng.random() < 0.5:
        pairs = zip_longest(one.events, two.events)
        mixed = [event for pair in pairs for event in pair if event is not None]
    else:
        mixed, rest = [], [one.events, two.events]
        while rest[0] or rest[1]:
            taken = rng.choice([queue for queue in rest if queue])
            mixed.append(taken.pop(0))
    return Damage(one, _joined(mixed), f"{message}; interleaved with {two.name}", exact=True, others=(two,))


def _joined(events: list[bytes]) -> bytes:
    return b"".join(event + b"\n\n" for event in events)


Applied: TypeAlias = tuple[bytes, str]


def _cut(rng: Random, body: bytes) -> Applied:
    at = rng.randrange(len(body))
    return body[:at], f"at byte {at}"


def _cut_event(rng: Random, body: bytes) -> Applied:
    """An event that is there only to its middle, with the rest of the stream after it."""
    events = _split(body)
    at = rng.randrange(len(events))
    length = rng.randrange(len(events[at]) + 1)
    events[at] = events[at][:length]
    return _joined(events), f"event {at} after {length} bytes"


def _drop(rng: Random, body: bytes) -> Applied:
    events = _split(body)
    at = rng.randrange(len(events))
    del events[at]
    return _joined(events), f"event {at}"


def _repeat(rng: Random, body: bytes) -> Applied:
    events = _split(body)
    at, to = rng.randrange(len(events)), rng.randrange(len(events) + 1)
    events.insert(to, events[at])
    return _joined(events), f"event {at} before {to}"


def _swap(rng: Random, body: bytes) -> Applied:
    events = _split(body)
    one, two = rng.randrange(len(events)), rng.randrange(len(events))
    events[one], events[two] = events[two], events[one]
    return _joined(events), f"events {one} and {two}"


def _move(rng: Random, body: bytes) -> Applied:
    events = _split(body)
    at, to = rng.randrange(len(events)), rng.randrange(len(events))
    events.insert(to, events.pop(at))
    return _joined(events), f"event {at} to {to}"


def _flip(rng: Random, body: bytes) -> Applied:
    at, bit = rng.randrange(len(body)), rng.randrange(8)
    return body[:at] + bytes([body[at] ^ (1 << bit)]) + body[at + 1 :], f"bit {bit} of byte {at}"


def _lose(rng: Random, body: bytes) -> Applied:
    at, length = rng.randrange(len(body)), rng.randrange(1, 60)
    return body[:at] + body[at + length :], f"{length} bytes at {at}"


_MARK = b"\xef\xbb\xbf"
_GARBAGE = (
    b"\x00",
    _MARK,
    b"\r\n",
    b"\n",
    b"\r",
    b"\x1b[2J",
    b"\xff\xfe",
    b"garbage\n",
    b": keep-alive\n\n",
    b"data:\n\n",
    b"data: \n\n",
    b"data: null\n\n",
    b"data: 7\n\n",
    b"data: {}\n\n",
    b"data: []\n\n",
    b"event: nonsense\n\n",
    b'data: {"type": "nonsense"}\n\n',
    b"<html><h1>502 Bad Gateway</h1></html>",
    b"data: [DONE]\n\n",
)


def _insert(rng: Random, body: bytes) -> Applied:
    at, what = rng.randrange(len(body) + 1), rng.choice(_GARBAGE)
    return body[:at] + what + body[at:], f"{what!r} at byte {at}"


def _insert_between(rng: Random, body: bytes) -> Applied:
    events = _split(body)
    at, what = rng.randrange(len(events) + 1), rng.choice(_GARBAGE)
    return _joined(events[:at]) + what + _joined(events[at:]), f"{what!r} before event {at}"


def _reframe(rng: Random, body: bytes) -> Applied:
    end = rng.choice((b"\r\n", b"\r"))
    plain = re.sub(rb"\r\n|\r", b"\n", body).removeprefix(_MARK)
    return _MARK + plain.replace(b"\n", end), f"with a byte order mark and {end!r}"


_ERRORS = (
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
    b'data: {"error": {"message": "upstream failed", "code": 502}}',
    b'data: {"error": "upstream failed"}',
    b'event: error\ndata: {"type": "error", "code": "server_error", "message": "oops", "param": null}',
    b'data: {"type": "response.failed", "response": {"status": "failed", "error": {"message": "\\u0007no"}}}',
)


def _fail(rng: Random, body: bytes) -> Applied:
    events = _split(body)
    at, error = rng.randrange(len(events)), rng.choice(_ERRORS)
    return _joined([*events[:at], error, *events[at:]]), f"{error!r} before event {at}"


_DEEP = {f"@deep{n}@": "[" * n + "]" * n for n in (90, 500, 940, 985, 20_000)}
_DEEP_OBJECTS = {f"@nested{n}@": '{"a":' * n + "1" + "}" * n for n in (90, 400, 940, 985)}
_ODD_NUMBERS = {"@nan@": "NaN", "@minus@": "-Infinity", "@inf@": "1e999", "@long@": "9" * 5000}
_RAW = _DEEP | _DEEP_OBJECTS | _ODD_NUMBERS
_JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 10**40, 1.5, "", "x", "\ud83d", "\x00\x1b[31m", "0"),
    *([], {}, [[]], [{}], {"type": "text"}, {"a": None}, [None], ["x"], *_RAW),
)


def _change_node(rng: Random, body: bytes) -> Applied:
    """Any node of the JSON of an event becomes something else, or goes."""
    events = _split(body)
    at = rng.randrange(len(events))
    value = _json_of(events[at])
    places = list(_places(value))
    if not places:
        return body, f"nothing in event {at}"
    holder, key = rng.choice(places)
    if rng.random() < 0.15:
        del holder[key]
        reported = f"{key!r} gone from event {at}"
    else:
        holder[key] = rng.choice(_JUNK)
        reported = f"{key!r} of event {at} := {holder[key]!r}"
    return _joined([*events[:at], _with_json(events[at], value), *events[at + 1 :]]), reported


_MARKS = ("index", "output_index", "id", "call_id", "item_id", "name", "type", "sequence_number", "role")


def _change_mark(rng: Random, body: bytes) -> Applied:
    """What tells events, blocks or calls apart becomes that of another, or a new one."""
    events = _split(body)
    marked = [
        (number, value, holder, key)
        for number, event in enumerate(events)
        if (value := _json_of(event)) is not None
        for holder, key in _places(value)
        if key in _MARKS
    ]
    if not marked:
        return body, "nowhere"
    at, value, holder, key = rng.choice(marked)
    known = [other[name] for _, _, other, name in marked if name == key]
    holder[key] = rng.choice([*known, rng.randrange(5) if isinstance(holder[key], int) else "new_one"])
    reported = f"{key!r} of event {at} := {holder[key]!r}"
    return _joined([*events[:at], _with_json(events[at], value), *events[at + 1 :]]), reported


def _split(body: bytes) -> list[bytes]:
    return [event for event in _EVENT_END.split(body) if event] or [b""]


def _json_of(event: bytes) -> Any:
    data = event.partition(b"data:")[2]
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree, as its holder and the key there. Not what is nested deeper than events are."""
    todo, depth = [value], 0
    while todo and depth < 2000:
        holder, depth = todo.pop(), depth + 1
        if not isinstance(holder, dict | list):
            continue
        for key, inner in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            yield holder, key
            if isinstance(inner, dict | list):
                todo.append(inner)


def _with_json(event: bytes, value: Any) -> bytes:
    try:
        text = json.dumps(value)
    except (RecursionError, ValueError):
        return event
    for mark, raw in _RAW.items():
        text = text.replace(f'"{mark}"', raw)
    return event.partition(b"data:")[0] + b"data: " + text.encode()


@dataclass(frozen=True, slots=True)
class _Mutation:
    """`exact`: it cannot turn one call into another; `exact_if_fragile`: not where all pieces are needed."""

    apply: Callable[[Random, bytes], Applied]
    exact: bool = False
    exact_if_fragile: bool = False


_MUTATIONS = {
    "cut": _Mutation(_cut, exact=True),
    "cut event": _Mutation(_cut_event, exact_if_fragile=True),
    "drop": _Mutation(_drop, exact_if_fragile=True),
    "repeat": _Mutation(_repeat, exact_if_fragile=True),
    "swap": _Mutation(_swap, exact_if_fragile=True),
    "move": _Mutation(_move, exact_if_fragile=True),
    "flip": _Mutation(_flip),
    "lose": _Mutation(_lose),
    "insert": _Mutation(_insert),
    "insert between": _Mutation(_insert_between, exact_if_fragile=True),
    "reframe": _Mutation(_reframe, exact=True),
    "error": _Mutation(_fail, exact=True),
    "change node": _Mutation(_change_node),
    "change node again": _Mutation(_change_node),
    "change mark": _Mutation(_change_mark),
}
