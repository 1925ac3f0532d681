"""A question that the model puts to the person with a call of `ask_person`, and the person's reply."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from quorum.domain.calls.tool import ToolCall
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once

ASK_PERSON = "ask_person"
LEAST_OPTIONS, MOST_OPTIONS = 2, 4
_LONGEST_QUESTION, _LONGEST_LABEL, _LONGEST_DESCRIPTION = 2_000, 100, 500


class BadQuestion(ValueError):
    """It is no question; the message says what is wrong with it, and where."""


class QuestionOption(Struct, frozen=True, kw_only=True):
    """One of the answers to choose from."""

    label: str
    description: str = ""


class PersonQuestion(Struct, frozen=True, kw_only=True):
    """`several`: more than one of the options may be chosen. A reply in the person's own words always may."""

    question: str
    options: tuple[QuestionOption, ...]
    several: bool = False


class PersonReply(Struct, frozen=True, kw_only=True):
    """What the person replied: the numbers of options, from 1, and words of their own. Without both they left
    the question without an answer."""

    options: tuple[int, ...] = ()
    text: str = ""

    def encode(self) -> str:
        """A text that `decode` reads: the numbers in the first line, then the person's words."""
        return f"{','.join(map(str, self.options))}\n{self.text}"

    @staticmethod
    def decode(encoded: str) -> PersonReply:
        """The reply that `encode` made this text of."""
        numbers, _, text = encoded.partition("\n")
        return PersonReply(
            options=tuple(int(number) for number in compile_once(_NUMBER).findall(numbers)), text=text
        )


_NUMBER = r"[0-9]{1,3}"
_NUMBERS = r"(?a)\s*[0-9]{1,3}(?:[\s,]+[0-9]{1,3})*\s*"


def read_question(arguments: JsonObject) -> PersonQuestion:
    """The question that these arguments describe. Raises BadQuestion."""
    question = _read_text(arguments, "question", "question", _LONGEST_QUESTION)
    given, several = arguments.get("options"), arguments.get("several", False)
    if not isinstance(given, list | tuple) or not LEAST_OPTIONS <= len(given) <= MOST_OPTIONS:
        raise BadQuestion(f"options is no list of {LEAST_OPTIONS} to {MOST_OPTIONS} options")
    if not isinstance(several, bool):
        raise BadQuestion("several is neither true nor false")
    options = tuple(_read_option(one, f"options[{place}]") for place, one in enumerate(given))
    labels = [option.label.casefold() for option in options]
    for place, label in enumerate(labels):
        if label in labels[:place]:
            raise BadQuestion(f"options[{place}].label is that of another option")
    return PersonQuestion(question=question, options=options, several=several)


def find_question(call: ToolCall) -> PersonQuestion | None:
    """The question that a call is; None for any other call."""
    if call.tool_name != ASK_PERSON:
        return None
    try:
        return read_question(call.arguments)
    except BadQuestion:  # it is not asked, and where its words are hidden they may be alike
        return None


def _read_option(value: JsonValue, where: str) -> QuestionOption:
    if not isinstance(value, Mapping):
        raise BadQuestion(f"{where} is no object with a label")
    return QuestionOption(
        label=" ".join(_read_text(value, "label", f"{where}.label", _LONGEST_LABEL).split()),
        description=_read_text(
            value, "description", f"{where}.description", _LONGEST_DESCRIPTION, is_required=False
        ),
    )


def _read_text(
    values: Mapping[str, JsonValue], name: str, where: str, longest: int, *, is_required: bool = True
) -> str:
    text = values.get(name) or ""
    if not isinstance(text, str):
        raise BadQuestion(f"{where} is no text")
    if is_required and not text.strip():
        raise BadQuestion(f"{where} is empty")
    if len(text) > longest:
        raise BadQuestion(f"{where} has {len(text)} characters, more than {longest}")
    return text.strip()


def read_reply(question: PersonQuestion, typed: str) -> PersonReply:
    """The reply that a typed text means: numbers of options, or the label of one, or words of the person's own.

    Only one number counts where not several options may be chosen.
    """
    typed = typed.strip()
    for number, option in enumerate(question.options, 1):
        if typed.casefold() == option.label.casefold():
            return PersonReply(options=(number,))
    if compile_once(_NUMBERS).fullmatch(typed):
        numbers = tuple(dict.fromkeys(map(int, compile_once(_NUMBER).findall(typed))))
        if all(1 <= each <= len(question.options) for each in numbers) and (
            question.several or len(numbers) == 1
        ):
            return PersonReply(options=numbers)
    return PersonReply(text=typed)


CHOSE, WROTE = "The person chose:", "The person wrote:"
"""What stands above the options of a reply, and above its text, as the model reads it."""
NO_ANSWER = (
    "The person closed the question without an answer. Do not repeat it: continue with what you judge "
    "best, and say what you assumed."
)


def render_question(question: PersonQuestion) -> str:
    """The question, and each option in a line of its own behind its number."""
    lines = [question.question, ""]
    for number, option in enumerate(question.options, 1):
        lines.append(f"{number}. {option.label}" + (f": {option.description}" if option.description else ""))
    return "\n".join(lines)


def list_labels(question: PersonQuestion, reply: PersonReply) -> tuple[str, ...]:
    """The labels of what was chosen. Numbers of no option are passed over."""
    return tuple(option.label for number, option in enumerate(question.options, 1) if number in reply.options)


def render_reply(question: PersonQuestion, reply: PersonReply) -> str:
    """The reply as the model reads it."""
    chosen = list_labels(question, reply)
    parts = ["\n".join([CHOSE, *(f"- {label}" for label in chosen)])] if chosen else []
    if reply.text:
        parts.append(f"{WROTE}\n{reply.text}")
    return "\n\n".join(parts) or NO_ANSWER
