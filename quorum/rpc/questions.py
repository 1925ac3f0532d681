"""The question that is open on the screen, listed with its votes, and answered by the digest of its subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from quorum.domain.mcp.server_question import check_answer
from quorum.domain.review.person_question import read_reply
from quorum.domain.review.questions import Approve, Reject
from quorum.domain.struct_json import struct_to_json
from quorum.rpc.json_rpc import make_refusal
from quorum.rpc.power import Hand
from quorum.rpc.review_json import render_review_json
from quorum.tui.screens.person_question_dialog import PersonQuestionDialog
from quorum.tui.screens.review.dialog import ReviewDialog
from quorum.tui.screens.server_dialogs import ServerAddressDialog, ServerFormDialog
from quorum.tui.screens.spend_dialog import SpendDialog
from quorum.tui.screens.trust_dialog import TrustDialog

if TYPE_CHECKING:
    from quorum.tui.app.app import QuorumApp


_Question: TypeAlias = (
    ReviewDialog | TrustDialog | SpendDialog | ServerFormDialog | ServerAddressDialog | PersonQuestionDialog
)


def open_question(app: QuorumApp) -> dict[str, object] | None:
    """What the person is asked in the tab in front, complete, secrets masked; None where nothing is asked."""
    dialog = _open(app)
    if isinstance(dialog, ReviewDialog):
        return render_review_json(dialog.request, dialog.review_context, dialog.earlier, dialog.root)
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


async def note_seen(app: QuorumApp, digest: str) -> dict[str, object]:
    """Somebody looks at the question about this digest, if it is open: others are told of it later."""
    dialog, session = _open(app), app.chat.current.session
    if dialog is None or session is None or _find_digest(dialog) != digest:
        return {"open": False}
    await session.agent.inbox.note_seen(session.agent.session_id, digest)
    return {"open": True}


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
