"""Questions of the model as elicitations of the protocol, or as permission requests with the options."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.domain.mcp.server_question import FieldChoice, FieldKind, FieldValue, FormField, ServerForm
from quorum.domain.review.person_question import PersonQuestion, PersonReply, render_question

_CHOSEN, _WORDS = "answer", "words"


def build_form(question: PersonQuestion) -> ServerForm:
    """The question with a field for the options and one for the person's own words."""
    words = FormField(name=_WORDS, title="In your own words", kind=FieldKind.TEXT)
    return ServerForm(
        server="",
        call="",
        message=render_question(question),
        fields=(_build_options(question, is_plural=question.several), words),
    )


def build_choice(question: PersonQuestion) -> ServerForm:
    """The question as far as one of its options can answer it."""
    fields = (_build_options(question, is_plural=False),)
    return ServerForm(server="", call="", message=render_question(question), fields=fields)


def _build_options(question: PersonQuestion, *, is_plural: bool) -> FormField:
    """Values are numbers: labels may be hidden, and alike."""
    choices = tuple(
        FieldChoice(value=str(number), title=option.label) for number, option in enumerate(question.options, 1)
    )
    kind = FieldKind.CHOICES if is_plural else FieldKind.CHOICE
    return FormField(name=_CHOSEN, title="Answer", kind=kind, choices=choices)


def read_values(values: Mapping[str, FieldValue]) -> PersonReply:
    """The reply that a filled in form is."""
    chosen, words = values.get(_CHOSEN, ()), values.get(_WORDS, "")
    numbers = chosen if isinstance(chosen, tuple) else (str(chosen),)
    return PersonReply(options=tuple(map(int, numbers)), text=str(words).strip())
