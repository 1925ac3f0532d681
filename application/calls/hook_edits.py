"""What a hook did to its draft and answered: which of it counts, and why the rest is refused."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from typing import TypeAlias, assert_never

from application.calls.hooks import CallDraft, RequestDraft, ResultDraft
from domain.calls.hook import Abort, ContinueWithMessages, Skip
from domain.conversation.history import AssistantMessage, ToolResults, UserMessage
from domain.text.json_text import is_json
from domain.text.json_value import JsonObject

Draft: TypeAlias = RequestDraft | CallDraft | ResultDraft


def snapshot(draft: Draft) -> Draft:
    """The draft as it is, out of reach of a hook."""
    match draft:
        case RequestDraft():
            return replace(draft, messages=list(draft.messages))
        case CallDraft():
            return replace(draft, arguments=deepcopy(draft.arguments))
        case ResultDraft():
            return replace(draft)
        case _:
            assert_never(draft)


def restore(draft: Draft, before: Draft) -> None:
    """Make the draft what that other one is."""
    for each in fields(draft):
        setattr(draft, each.name, getattr(before, each.name))


def refused_edit(draft: Draft, before: Draft) -> str | None:
    """Why what a hook left in its draft cannot be used; None where it can."""
    editable = _editable(draft)
    for each in fields(draft):
        if each.name != editable and getattr(draft, each.name) != getattr(before, each.name):
            return (
                f"changed {each.name}, which cannot be changed: at this point a hook may edit {editable} only"
            )
    value: object = getattr(draft, editable)
    match draft:
        case RequestDraft() if not _is_list_of(value, (UserMessage, AssistantMessage, ToolResults)):
            return "left messages that are not a list of messages"
        case CallDraft() if not isinstance(value, dict) or not is_json(value):
            return "left arguments that are not a JSON object"
        case ResultDraft() if not isinstance(value, str):
            return "left an output that is not text"
        case _:
            return None


def edit_of(draft: Draft, before: Draft) -> JsonObject | None:
    """What a hook changed, as it is recorded; None where it changed nothing."""
    if getattr(draft, _editable(draft)) == getattr(before, _editable(before)):
        return None
    match draft:
        case RequestDraft(messages):
            return {"messages": len(messages)}
        case CallDraft(arguments=arguments):
            return {"arguments": deepcopy(arguments)}
        case ResultDraft(output=output):
            return {"output": output}
        case _:
            assert_never(draft)


def refused_answer(answer: object, allowed: tuple[type, ...]) -> str | None:
    """Why an answer cannot be used; None where it can."""
    match answer:
        case _ if not isinstance(answer, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            return f"answered {type(answer).__name__}; it may answer {names}"
        case Skip(reason) | Abort(reason) if not isinstance(reason, str):
            return f"answered {type(answer).__name__} with a reason that is not text"
        case ContinueWithMessages(messages) if not _is_list_of(messages, (str,)) or not all(messages):
            return "answered ContinueWithMessages with something else than texts"
        case ContinueWithMessages(messages) if not messages:
            return "answered ContinueWithMessages without messages"
        case _:
            return None


def _editable(draft: Draft) -> str:
    match draft:
        case RequestDraft():
            return "messages"
        case CallDraft():
            return "arguments"
        case ResultDraft():
            return "output"
        case _:
            assert_never(draft)


def _is_list_of(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, kinds) for one in value)
