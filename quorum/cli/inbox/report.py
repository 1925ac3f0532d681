"""Waiting decisions as lines, in full, and as JSON. Everything is masked and safe to print."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from quorum.application.export.session_json import mask_json
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.errors import AnswerRefused
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.replacing import replace
from quorum.domain.review.person_question import find_question, render_question
from quorum.domain.sessions.waiting_review import WaitingReview
from quorum.domain.staging.effects_answer import find_effects_question
from quorum.domain.text.amounts import format_wait
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable, split_paragraphs
from quorum.text_table import Column, render_text_table

_SHOWN = ("command", "path", "url", "question", "summary")


def render_inbox(
    waiting: Sequence[WaitingReview], mask: Callable[[str], str], *, now_ms: int, width: int | None
) -> list[str]:
    """One line for each decision under a line of headings. `width` in cells; None: nothing is cut."""
    columns: tuple[Column[WaitingReview], ...] = (
        Column("DIGEST", lambda review: review.short_digest, whole=True),
        Column("WAITS", lambda review: format_wait(review.since_ms, now_ms)),
        Column("WHERE", lambda review: _make_line(review.session.holder or "not running", mask)),
        Column("WHO ASKS", lambda review: _make_line(describe_asker(review), mask)),
        Column("CALL", lambda review: _describe_state(review, mask), narrowest=20),
    )
    return render_text_table(columns, waiting, width=width)


def render_review(review: WaitingReview, mask: Callable[[str], str], *, now_ms: int) -> str:
    """All that would be approved, in lines: what is asked first, then what it is bound to."""
    session, packet, seal = review.session, review.packet, review.packet.seal
    asked = [
        ("digest", review.digest),
        ("who asks", describe_asker(review)),
        ("waits", format_wait(review.since_ms, now_ms)),
        *((("model", split_paragraphs(review.preamble)[-1]),) if review.preamble.strip() else ()),
        *((("signatures", review.signing.describe()),) if review.signing is not None else ()),
        *((("", review.signatures),) if review.signatures else ()),
        *(("why", reason) for reason in review.ordered_reasons),
        *(("hidden", hint) for hint in _explain_hidden(packet)),
        ("tool", packet.call.tool_name),
    ]
    bound = [
        ("session", f"{session.id} · {session.title or '(no prompt yet)'}"),
        ("folder", session.cwd),
        ("where", session.holder or "no process has it; the answer counts when it is resumed"),
        ("runs in", seal.cwd),
        *(("file", f"{file.path} · {file.sha256 or 'there is none yet'}") for file in seal.files),
        *(("program", program) for program in seal.executables),
        *((("sandbox", seal.sandbox),) if seal.sandbox else ()),
        *((("not known", seal.unsealed),) if seal.unsealed else ()),
        *(
            ("environment", f"without {name}" if value is None else f"{name}={value}")
            for name, value in sorted(seal.environment.items())
        ),
    ]
    if (effects := find_effects_question(packet.call.tool_name, packet.call.arguments)) is not None:
        shown = ["changes", make_printable(mask(effects.text))]
        bound.insert(2, ("layer", f"{effects.layer} on {effects.machine}"))
    elif (question := find_question(packet.call)) is not None:
        shown = ["question", make_printable(mask(render_question(question)))]
    else:
        shown = ["arguments", _encode_arguments(packet, mask)]
    lines = [*_label(asked, mask), "", *shown]
    if seal.diff is not None:
        lines += ["", "diff", make_printable(mask(seal.diff)).rstrip("\n")]
    return "\n".join([*lines, "", *_label(bound, mask)])


def _label(facts: Sequence[tuple[str, str]], mask: Callable[[str], str]) -> list[str]:
    return [f"{label:<12}{_make_line(value, mask)}" for label, value in facts]


def reveal_packet(review: WaitingReview) -> WaitingReview:
    """The same with nothing hidden in its packet. Raises AnswerRefused where that is not known here."""
    if not isinstance(packet := review.packet, MaskedPacket):
        return review
    if packet.original is None:
        raise AnswerRefused(
            f"what is hidden in the call {review.short_digest} is in no variable and no sensitive file here: "
            "its own session can show it"
        )
    return replace(review, packet=packet.original)


def _explain_hidden(packet: ReviewPacket) -> tuple[str, ...]:
    if not isinstance(packet, MaskedPacket):
        return ()
    is_known = packet.original is not None
    return ("--reveal shows it" if is_known else "it is not known here: approve it in its own session",)


def encode_review(review: WaitingReview, mask: Callable[[str], str]) -> JsonObject:
    """A waiting decision for scripts."""
    session = review.session
    value: JsonObject = {
        "digest": review.digest,
        "session": session.id,
        "title": session.title,
        "cwd": session.cwd,
        "open_in": session.open_in,
        "host": session.host or None,
        "asked_by": describe_asker(review),
        "since_ms": review.since_ms,
        "preamble": review.preamble,
        "reasons": list(review.reasons),
        "dangers": list(review.dangers),
        "signing": None if review.signing is None else msgspec.to_builtins(review.signing),
        "signed_by": list(review.signed_by),
        "packet": review.packet.to_json(),
    }
    return {key: mask_json(each, mask) for key, each in value.items()}


def describe_asker(review: WaitingReview) -> str:
    """Who wants the call to run."""
    return review.packet.asked_by or review.session.model


def _describe_state(review: WaitingReview, mask: Callable[[str], str]) -> str:
    call = describe_call(review.packet, mask)
    return f"{_make_line(review.signatures, mask)} · {call}" if review.signatures else call


def describe_call(packet: ReviewPacket, mask: Callable[[str], str]) -> str:
    """The call on one line."""
    given = packet.call.arguments
    plain = next((given[key] for key in _SHOWN if isinstance(given.get(key), str)), None)
    shown = plain if isinstance(plain, str) else json.dumps(mask_json(given, mask), ensure_ascii=False)
    return _make_line(f"{format_tool_name(packet.call.tool_name)}: {shown}", mask)


def _encode_arguments(packet: ReviewPacket, mask: Callable[[str], str]) -> str:
    arguments = mask_json(packet.call.arguments, mask)
    return make_printable(json.dumps(arguments, ensure_ascii=False, indent=2))


def _make_line(text: str, mask: Callable[[str], str]) -> str:
    return make_printable(mask(text), newlines=False)
