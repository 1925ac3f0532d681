"""What a permission request shows: the call as it is sealed, why it is asked, and the votes as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from quorum.acp_agent.diff_blocks import render_diff
from quorum.acp_agent.shown_text import fence, show_line, show_text
from quorum.acp_agent.tool_calls import CallContent, build_text_content, convert_json, render_title
from quorum.application.ports.people import ReviewContext
from quorum.domain.conversation.spend_caps import SpendQuestion
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.review.ballot import Ballot, Vote, sort_dissent_first
from quorum.domain.review.lens import format_reviewer
from quorum.domain.review.questions import ReviewRequest, RulePreview
from quorum.domain.sessions.trust import TrustItem, TrustQuestion

_SAID_BY_DIFF = frozenset({"path", "content", "old_text", "new_text", "edits", "patch"})
_HIDDEN = "Secrets are shown as [secret:NAME]; what runs, and its digest, hold them as they are."
_STALE = "What was approved before is no longer what would run, so it is asked again."
_MOST_LINES = 400
_LONGEST_HEAD, _LONGEST_CALL = 300, 20_000


def show_review(
    request: ReviewRequest, context: ReviewContext, rule: RulePreview | None, notices: tuple[str, ...] = ()
) -> list[CallContent]:
    """All that is to be read before a call is approved: what would run comes first, and is never cut."""
    seal = request.packet.seal
    shown: list[CallContent] = [*render_diff(seal.diff, seal.cwd)] if seal.diff else []
    shown += [build_text_content(text) for text in _render_what_runs(request)]
    return [*shown, build_text_content("\n".join(_render_facts(request, context, rule, notices)))]


def render_question(request: ReviewRequest, context: ReviewContext) -> str:
    """The call in one line, after why it is asked and how the votes stand: what a model writes comes last, so
    that it can neither hide nor imitate the rest. The call is not cut."""
    call = request.packet.call
    why = [show_line(reason) for reason in dict.fromkeys((*request.dangers, *request.reasons))]
    votes = [f"votes: {show_line(context.tally.describe_count())}"] if context.reviewers else []
    head = show_line("; ".join((*votes, *why)), _LONGEST_HEAD)
    return f"[{head}] {render_title(call.tool_name, call.arguments, _LONGEST_CALL)}"


def describe_review(request: ReviewRequest, context: ReviewContext) -> dict[str, Any]:
    """The same for programs: digest, reasons, votes and the packet itself."""
    tally = context.tally
    return {
        "digest": request.packet.digest,
        "reasons": list(request.reasons),
        "packet": convert_json(request.packet.to_json()),
        "reviewers": list(context.reviewers),
        "not_asked": list(context.not_asked),
        "votes": [_vote_json(ballot) for ballot in sort_dissent_first(context.ballots)],
        "tally": tally.describe_count() if context.reviewers else None,
        "stale": request.stale,
        "earlier_plans": [
            {"round": earlier.number, "text": earlier.text, "votes": [*map(_vote_json, earlier.ballots)]}
            for earlier in request.earlier_plans
        ],
        "comparison": _encode_comparison(request),
    }


def show_trust(question: TrustQuestion) -> list[CallContent]:
    """What a folder brings along, in full as far as it is not very long; what is left out is counted."""
    return [build_text_content(text) for text in (_trust_head(question), *map(_show_item, question.items))]


def show_spending(question: SpendQuestion) -> list[CallContent]:
    """How much was spent, and what a yes allows."""
    return [build_text_content(f"{show_text(question.reason)}.\n\ndigest: `{question.digest}`")]


def _render_what_runs(request: ReviewRequest) -> Iterator[str]:
    arguments = dict(request.packet.call.arguments)
    command = arguments.pop("command", None)
    if isinstance(command, str):
        yield fence(command, "sh")
    elif command is not None:
        arguments["command"] = command
    if request.packet.seal.diff:
        arguments = {key: value for key, value in arguments.items() if key not in _SAID_BY_DIFF}
    if arguments:
        yield fence(json.dumps(convert_json(arguments), indent=2, ensure_ascii=False), "json")


def _render_facts(
    request: ReviewRequest, context: ReviewContext, rule: RulePreview | None, notices: tuple[str, ...]
) -> Iterator[str]:
    packet, seal = request.packet, request.packet.seal
    place = f", call {packet.context.call_index + 1} of {request.batch_size}" if request.batch_size > 1 else ""
    yield f"**{show_line(packet.call.tool_name)}**{place}, in `{show_line(seal.cwd, 4096)}`\n"
    if packet.asked_by:
        yield f"- asked by: {show_line(packet.asked_by)}"
    if request.stale:
        yield f"- {_STALE}"
    for reason in dict.fromkeys((*request.dangers, *request.reasons)):
        yield f"- asked because: {show_text(reason)}"
    for notice in notices:
        yield f"- {show_text(notice)}"
    if isinstance(packet, MaskedPacket):
        yield f"- {_HIDDEN}"
    for file in seal.files:
        state = "new file" if file.sha256 is None else f"sha256 {file.sha256[:12]}…"
        yield f"- touches: `{show_line(file.path, 4096)}` ({state})"
    yield from (f"- makes the folder `{show_line(folder, 4096)}`" for folder in seal.folders)
    for program in seal.executables:
        yield f"- runs: `{show_line(program, 4096)}`"
    for name, value in seal.environment.items():
        yield f"- environment: `{show_line(name if value is None else f'{name}={value}', 4096)}`" + (
            " removed" if value is None else ""
        )
    if seal.sandbox is not None:
        yield f"- sandbox: {show_text(seal.sandbox)}"
    if seal.unsealed:
        yield f"- not sealed: {show_text(seal.unsealed)}"
    yield from _render_votes(context)
    yield from _list_compared_plans(request)
    yield from _render_earlier_plans(request)
    if rule is not None and rule.covers:
        yield "- the rule would also let run:"
        yield from (f"  - `{show_line(call)}`" for call in rule.covers)
    yield f"- packet: `{packet.digest}`"


def _render_votes(context: ReviewContext) -> Iterator[str]:
    if not context.reviewers:
        return
    independent = "" if context.independent else "; they are not independent: all are of one family of models"
    yield f"- votes: {show_text(context.tally.describe_count())}{independent}"
    for ballot in sort_dissent_first(context.ballots):
        confidence = "" if ballot.confidence is None else f" ({ballot.confidence:.0%})"
        quoted = f", about “{show_line(ballot.objection)}”" if ballot.objection else ""
        said = f"**{ballot.counts_as}**{confidence}: {show_text(ballot.explanation)}{quoted}"
        yield f"  - {show_line(format_reviewer(ballot.reviewer, ballot.lens))} {said}"
        yield from (f"    - {show_text(objection.describe())}" for objection in ballot.objections)
    for reviewer in context.awaited:
        yield f"  - {show_line(format_reviewer(reviewer, context.lenses.get(reviewer)))} has not voted yet"
    for reviewer in context.not_asked:
        yield f"  - {show_line(reviewer)} is not asked: the first vote left no doubt"


def _list_compared_plans(request: ReviewRequest) -> Iterator[str]:
    """What several models found who made plans, and said of each other's."""
    if request.comparison is not None:
        yield "- several models planned:"
        yield from (f"  - {show_text(finding)}" for finding in request.comparison.findings)


def _render_earlier_plans(request: ReviewRequest) -> Iterator[str]:
    """What reviewers objected to in the plans before this one."""
    for earlier in request.earlier_plans:
        yield f"- objections to the plan of round {earlier.number}:"
        for ballot in sort_dissent_first(earlier.ballots):
            name = show_line(format_reviewer(ballot.reviewer, ballot.lens))
            if ballot.counts_as is Vote.REJECT and not ballot.objections:
                yield f"  - {name}: {show_text(ballot.explanation)}"
            yield from (f"  - {name}: {show_text(objection.describe())}" for objection in ballot.objections)


def _encode_comparison(request: ReviewRequest) -> dict[str, Any] | None:
    """What several models planned and said of each other's plans; None where one model did."""
    if request.comparison is None:
        return None
    plans = [
        {
            "label": each.label,
            "model": each.model,
            "score": each.score,
            "remarks": [*each.remarks],
            "text": each.text,
        }
        for each in request.comparison.plans
    ]
    return {"findings": [*request.comparison.findings], "plans": plans}


def _vote_json(ballot: Ballot) -> dict[str, Any]:
    return {
        "reviewer": ballot.reviewer,
        "lens": ballot.lens,
        "verdict": ballot.vote.value,
        "in_scope": ballot.in_scope,
        "counts_as": ballot.counts_as.value,
        "confidence": ballot.confidence,
        "reason": ballot.reason,
        "objection": ballot.objection,
        "objections": [objection.to_json() for objection in ballot.objections],
    }


def _trust_head(question: TrustQuestion) -> str:
    return (
        f"`{show_line(question.folder, 4096)}` brings this along. What is trusted is followed by the model "
        f"until it changes; what is not trusted is ignored.\n\ndigest: `{question.digest}`"
    )


def _show_item(item: TrustItem) -> str:
    changed = " (changed since it was trusted)" if item.changed else ""
    lines = [
        f"**{show_line(item.file, 4096)}**{changed}",
        *(f"- {show_line(want, 1000)}" for want in item.wants),
    ]
    if changes := item.compare():
        lines += ["", fence("\n".join(changes[:_MOST_LINES]), "diff")]
    if item.text:
        lines += ["", fence("\n".join(item.text[:_MOST_LINES]))]
    if len(item.text) > _MOST_LINES:
        lines.append(
            f"{len(item.text) - _MOST_LINES:,} more lines are not shown here; open the file to read them"
        )
    return "\n".join(lines)
