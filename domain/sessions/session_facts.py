"""The facts that a list shows of a session, collected from its events, also for one that happened elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.sessions.ledger_chain import NO_LINK, ChainedRecord, chain_record, declare_format
from quorum.domain.text.json_value import JsonObject, JsonValue

_LONGEST_TITLE = 200
_COMMAND = "! "


class StoredSessionFacts(Struct, frozen=True, kw_only=True):
    """The facts after some of the events. `cost` is the sum of known costs, in USD; None if there is none."""

    cwd: str = ""
    title: str = ""
    model: str = ""
    turns: int = 0
    cost: Decimal | None = None

    def after(self, event: JsonObject) -> StoredSessionFacts:
        """Return the facts after one more event, given in its JSON form."""
        match event.get("type"):
            case "session_started" | "session_resumed":
                return replace(self, model=_read_text(event.get("model")), cwd=_read_text(event.get("cwd")))
            case "model_changed":
                return replace(self, model=_read_text(event.get("model")))
            case "turn_started":
                # A prompt says more than a command before it, and a name that was given more than a prompt.
                is_kept = self.title and (self.turns or not self.title.startswith(_COMMAND))
                title = self.title if is_kept else cut_title(event.get("prompt")) or self.title
                return replace(self, turns=self.turns + 1, title=title)
            case "session_renamed":
                return replace(self, title=cut_title(event.get("title")) or self.title)
            case "own_command_started":
                return replace(
                    self, title=self.title or cut_title(f"{_COMMAND}{_read_text(event.get('command'))}")
                )
            case "usage_counted" if event.get("by_plan") is not True:  # a plan pays: no sum of money
                return replace(self, cost=_sum(self.cost, event.get("cost_usd")))
            case _:
                return self


def collect_facts(chain: Iterable[ChainedRecord]) -> StoredSessionFacts:
    """Return the facts after all these records, each of which holds JSON."""
    facts = StoredSessionFacts()
    for record in chain:
        value = json.loads(record.payload)
        facts = facts.after(value) if isinstance(value, Mapping) else facts
    return facts


def escape_surrogates(text: str) -> str:
    """Return text that a database can store: surrogates, as in names of some folders, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _read_text(value: JsonValue) -> str:
    # A zero character, as in what is pasted, is text that PostgreSQL does not store.
    return escape_surrogates(value).replace("\0", "\ufffd") if isinstance(value, str) else ""


def cut_title(prompt: JsonValue) -> str:
    """A title as a list shows it, on one line."""
    return " ".join(_read_text(prompt).split(maxsplit=_LONGEST_TITLE)[:_LONGEST_TITLE])[:_LONGEST_TITLE]


def _sum(cost: Decimal | None, added: JsonValue) -> Decimal | None:
    if not isinstance(added, int | float) or isinstance(added, bool):
        return cost
    try:
        return (cost or Decimal(0)) + Decimal(str(added))
    except InvalidOperation:
        return cost


class WholeSession(Struct, frozen=True, kw_only=True):
    """A session with its chain, and what a list shows of it."""

    session_id: str
    facts: StoredSessionFacts
    chain: Sequence[ChainedRecord]


def chain_session(
    session_id: str, events: Iterable[tuple[int, JsonObject]], encode: Callable[[JsonObject], bytes]
) -> WholeSession:
    """The session of these events in their JSON form, each with its time, which never goes back."""
    facts, link, last_ms = StoredSessionFacts(), NO_LINK, 0
    chain: list[ChainedRecord] = []
    for at_ms, event in events:
        last_ms = max(at_ms, last_ms)
        record = chain_record(
            session_id,
            link,
            seq=len(chain),
            at_ms=last_ms,
            event_type=str(event["type"]),
            payload=encode(declare_format(event)),
            event=event,
        )
        facts, link = facts.after(event), record.link
        chain.append(record)
    return WholeSession(session_id=session_id, facts=facts, chain=chain)
