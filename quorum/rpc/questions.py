"""The question that is open on the screen, listed with its votes, and answered by the digest of its subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from quorum.application.ports.people import ReviewContext
from quorum.domain.mcp.server_question import check_answer
from quorum.domain.review.ballot import Ballot, sort_dissent_first
from quorum.domain.review.person_question import read_reply
from quorum.domain.review.questions import Approve, Reject, ReviewRequest, RuleOffer
from quorum.domain.struct_json import struct_to_json
from quorum.rpc.approval import Hand
from quorum.rpc.json_rpc import make_refusal
from quorum.tui.screens.person_question_dialog import PersonQuestionDialog
from quorum.tui.screens.review.dialog import ReviewDialog
from quorum.tui.screens.review.text.facts import collect_facts
from quorum.tui.screens.review.text.plan import find_plan_text
from quorum.tui.screens.review.text.title import build_title
from quorum.tui.screens.server_dialogs import ServerAddressDialog, ServerFormDialog
from quorum.tui.screens.spend_dialog import SpendDialog
from quorum.tui.screens.trust_dialog import TrustDialog

if TYPE_CHECKING:
    from quorum.tui.app.app import QuorumApp


def render_votes_json(review_context: ReviewContext) -> dict[str, object]:
    """The votes so far, the strongest objection first, and who has not voted yet."""
    return {
        "ballots": [_render_ballot(ballot) for ballot in sort_dissent_first(review_context.ballots)],
        "awaited": list(review_context.awaited),
        "not_asked": list(review_context.not_asked),
        "lenses": dict(review_context.lenses),
        "count": review_context.tally.describe_count() if review_context.reviewers else "",
        "independent": review_context.independent,
    }


def render_earlier_plans_json(request: ReviewRequest) -> list[dict[str, object]]:
    """The plans that reviewers judged before this one, oldest first, each with its votes."""
    return [
        {
            "round": earlier.number,
            "text": earlier.text,
            "ballots": [_render_ballot(ballot) for ballot in sort_dissent_first(earlier.ballots)],
        }
        for earlier in request.earlier_plans
    ]


def render_comparison_json(request: ReviewRequest) -> dict[str, object] | None:
    """What several models planned and said of each other's plans, the best first; None where one model did."""
    if request.comparison is None:
        return None
    return {
        "findings": list(request.comparison.findings),
        "plans": [
            {
                "label": plan.label,
                "model": plan.model,
                "score": plan.score,
                "remarks": list(plan.remarks),
                "text": plan.text,
            }
            for plan in request.comparison.plans
        ],
    }


def _render_ballot(ballot: Ballot) -> dict[str, object]:
    return {
        "reviewer": ballot.reviewer,
        "lens": ballot.lens,
        "vote": ballot.vote.value,
        "in_scope": ballot.in_scope,
        "counts_as": ballot.counts_as.value,
        "explanation": ballot.explanation,
        "confidence": ballot.confidence,
        "reason": ballot.reason,
        "objection": ballot.objection,
        "objections": [objection.to_json() for objection in ballot.objections],
    }


_Question: TypeAlias = (
    ReviewDialog | TrustDialog | SpendDialog | ServerFormDialog | ServerAddressDialog | PersonQuestionDialog
)


def open_question(app: QuorumApp) -> dict[str, object] | None:
    """What the person is asked in the tab in front, complete, secrets masked; None where nothing is asked."""
    dialog = _open(app)
    if isinstance(dialog, ReviewDialog):
        request = dialog.request
        known = collect_facts(request, dialog.earlier, root=dialog.root)
        return {
            "kind": "review",
            "title": "".join(build_title(request.packet, dialog.root)),
            "digest": request.packet.digest,
            "packet": request.packet.to_json(),
            "preamble": request.preamble,
            "reasons": list(request.reasons),
            "batch_size": request.batch_size,
            "stale": request.stale,
            "dangers": [line.text for line in known.dangers],
            "arguments": [line.text for line in known.arguments],
            "votes": render_votes_json(dialog.review_context),
            "plan": find_plan_text(request.packet),
            "earlier_plans": render_earlier_plans_json(request),
            "comparison": render_comparison_json(request),
            "following": [packet.digest for packet in request.following],
            "offer": None if (offer := request.offer) is None else _offer_as_json(offer),
        }
    if isinstance(dialog, TrustDialog):
        question = dialog.question
        return {
            "kind": "trust",
            "digest": question.digest,
            "file": question.items[0].file,
            "wants": [line for item in question.items for line in (*item.wants, *item.text)],
            "changed": any(item.changed for item in question.items),
            "files": [item.file for item in question.items],
        }
    if isinstance(dialog, SpendDialog):
        spend = dialog.question
        return {
            "kind": "spend",
            "digest": spend.digest,
            "cap": spend.cap.value,
            "limit": float(spend.limit),
            "spent": float(spend.spent),
            "estimate": None if spend.estimate is None else float(spend.estimate),
            "raise_to": None if spend.raise_to is None else float(spend.raise_to),
            "models": list(spend.models),
        }
    if isinstance(dialog, PersonQuestionDialog):
        return {"kind": "question", "digest": dialog.digest, **struct_to_json(dialog.question)}
    if isinstance(dialog, ServerFormDialog):
        return _form_as_json(dialog)
    if isinstance(dialog, ServerAddressDialog):
        address = dialog.question
        return {
            "kind": "server_address",
            "digest": address.digest,
            "server": address.server,
            "call": address.call,
            "message": address.message,
            "address": address.address,
        }
    return None


def _form_as_json(dialog: ServerFormDialog) -> dict[str, object]:
    """A form, and what is filled in so far; it is filled in with keys."""
    form = dialog.question
    return {
        "kind": "server_form",
        "digest": form.digest,
        "server": form.server,
        "call": form.call,
        "message": form.message,
        "fields": [
            {
                "name": field.name,
                "title": field.title,
                "kind": field.kind.value,
                "required": field.is_required,
                "choices": [choice.value for choice in field.choices],
                "value": dialog.values.get(field.name),
            }
            for field in form.fields
        ],
    }


def _offer_as_json(offer: RuleOffer) -> dict[str, object]:
    """The rules that the dialog offers; they are saved at the keyboard only."""
    return {"rules": list(offer.rules), "approvals": offer.approvals, "covers": list(offer.covers)}


def respond(app: QuorumApp, decision: str, digest: str, reason: str, hand: Hand) -> dict[str, object]:
    """Answer the question about this digest, and no other. Raises RpcError where that cannot be."""
    if decision == "approve":
        hand.demand("approving")
    dialog = _open(app)
    if dialog is None:
        raise make_refusal(
            "nothing is asked in the tab in front; interaction.activate shows another", "nothing_asked"
        )
    asked = _find_digest(dialog)
    if digest != asked:
        raise make_refusal(f"the open question is about {asked}; nothing was answered", "stale")
    while app.screen is not dialog:  # what was opened over it goes first, as when it is taken back
        app.pop_screen()
    if isinstance(dialog, ReviewDialog):
        dialog.dismiss(Approve(digest) if decision == "approve" else Reject(reason or None))
    elif isinstance(dialog, ServerFormDialog | ServerAddressDialog):
        _answer_server(dialog, decision)
    elif isinstance(dialog, PersonQuestionDialog):
        _reply(dialog, decision, reason)
    else:
        dialog.dismiss(decision == "approve")
    return {"answered": decision, "digest": digest}


def _find_digest(dialog: _Question) -> str:
    match dialog:
        case ReviewDialog():
            return dialog.request.packet.digest
        case PersonQuestionDialog():
            return dialog.digest
        case _:
            return dialog.question.digest


def _reply(dialog: PersonQuestionDialog, decision: str, reply: str) -> None:
    """Take the reply to a question of the model, or leave it without an answer."""
    if decision != "approve":
        dialog.action_refuse()
    elif not reply.strip():
        raise make_refusal(
            "a yes does not answer a question: give an option's number, or your own words, as the reason",
            "incomplete",
        )
    else:
        dialog.give(read_reply(dialog.question, reply))


def _answer_server(dialog: ServerFormDialog | ServerAddressDialog, decision: str) -> None:
    """Send the form as it is filled in, or agree to the address, which the client opens itself."""
    if decision != "approve":
        dialog.action_refuse()
        return
    if isinstance(dialog, ServerFormDialog):
        if problems := check_answer(dialog.question, dialog.values):
            raise make_refusal(f"the form cannot be sent as it is: {problems[0]}", "incomplete")
        dialog.action_accept()
    else:
        dialog.agree()


def _open(app: QuorumApp) -> _Question | None:
    """The question in the tab in front, once it has been drawn: before, it cannot be answered at the keyboard
    either.
    """
    for screen in reversed(app.screen_stack):
        if isinstance(screen, _Question):
            return screen if screen.is_awake else None
    return None
