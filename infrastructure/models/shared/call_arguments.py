"""Calls in a form that every API takes: their arguments, ids, names and texts.

Arguments are repaired only where their text can be read in one way. A provider's own ids are kept where they
tell the calls of an answer apart.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from uuid import uuid4

from quorum.domain.conversation.response import LlmResponse, ToolUseBlock
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.models.shared.json_fields import (
    parse_arguments,
    parse_foreign_json,
    replace_surrogates,
)


class CallIds:
    """The ids of one answer, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def claim(self, native: str) -> str:
        """The provider's id, or a new one where it is missing or already stands for another call."""
        chosen = native if native and native not in self._given else f"call_{uuid4().hex[:24]}"
        self._given.add(chosen)
        return chosen


_FRAMED = (
    r"(?s)(?:```(?:json)?\s*+|(?:(?:<[\w:.-]{1,40}>|<\|[^|<>]{1,40}\|>)\s*+)+)?"
    r"(\{.*\})\s*(?:```|(?:\s*(?:</[\w:.-]+>|<\|[^|<>]{1,40}\|>))+)?"
)


_MOST_OBJECTS = 20
# The name spaces of the templates of OpenAI, Google and others; no tool's name can hold a dot or a colon.
_NAMESPACE = r"(?:(?:functions|default_api|tools?)[.:])+"
# What templates put behind a name: the channel of OpenAI's open models, the number of a call of Kimi's.
_BEHIND_NAME = r"(?:<\|.*|:\d{1,6})\Z"


def build_call_block(call_id: str, name: str, raw: str) -> ToolUseBlock:
    """The call with these arguments as a model wrote them, repaired where the text can be read in one way."""
    repairs: list[str] = []
    plain = name.strip()
    if (found := compile_once(_NAMESPACE).match(plain)) is not None:
        plain = plain[found.end() :]
    plain = compile_once(_BEHIND_NAME).sub("", plain)
    if plain != name and plain:
        repairs.append(f"the name {name[:80]!r} was read as {plain[:80]!r}")
    arguments, problem = parse_arguments(raw)
    if problem is not None and (repaired := _repair_arguments(raw)) is not None:
        (arguments, what), problem = repaired, None
        repairs.append(f"the text of the arguments: {what}")
    return ToolUseBlock(
        id=call_id, name=plain or name, input=arguments, parse_error=problem, repairs=tuple(repairs)
    )


def _repair_arguments(raw: str) -> tuple[JsonObject, str] | None:
    """The one reading of a text that is no JSON object, and what was done for it."""
    from quorum.domain.text.json_text import (
        add_missing_mark,
        double_backslashes,
        escape_line_breaks,
        halve_braces,
        quote_keys,
        read_python,
        read_python_words,
    )

    text = raw.strip().removeprefix("\ufeff")
    for what, candidate in (
        ("it was encoded twice", _unquote(text)),
        ("an empty or equal object, or a bracket, behind it was left out", _drop_repeated(text)),
        ("what stood around it was left out", _strip_frame(text)),
        ("the list around it was left out", _take_only(text)),
        ("backslashes were taken as they stand", double_backslashes(text)),
        ("line breaks in its texts were taken as they stand", escape_line_breaks(text)),
        ("Python's form of it was read", read_python(text)),
        ("Python's words in it were read", read_python_words(text)),
        ("its keys or texts were put into quotes", quote_keys(text)),
        ("its doubled braces were read as single ones", halve_braces(text)),
        ("a missing comma or bracket was added", add_missing_mark(text)),
    ):
        if candidate:
            arguments, problem = parse_arguments(candidate)
            if problem is None:
                return arguments, what
    return None


def _unquote(text: str) -> str:
    for _ in range(2):
        try:
            value = parse_foreign_json(text)
        except ValueError:
            return ""
        if not isinstance(value, str):
            return text if isinstance(value, dict) else ""
        text = value
    return text


def _drop_repeated(text: str) -> str:
    """The one object of a text that holds several, where the others are empty or the same, or more brackets."""
    found: list[object] = []
    decoder, position, meant = json.JSONDecoder(), 0, ""
    while position < len(text) and len(found) < _MOST_OBJECTS:
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        if value != {}:
            found.append(value)
            meant = text[position:end]
        position = end + len(text[end:]) - len(text[end:].lstrip())
    is_read = not text[position:].strip("}] \n") and bool(found)
    return meant if is_read and all(each == found[0] for each in found) else ""


def _strip_frame(text: str) -> str:
    """The object without a code fence around it, or tags of a template behind it."""
    found = compile_once(_FRAMED).fullmatch(text)
    return found[1] if found else ""


def _take_only(text: str) -> str:
    """The one object that a list holds."""
    try:
        value = parse_foreign_json(text)
    except ValueError:
        return ""
    return json.dumps(value[0]) if isinstance(value, list) and len(value) == 1 else ""


# What may stand between the words of a name, or not: longer runs, and those at an end, are characters that a
# name may not have, and 1_2 is not 12.
_BETWEEN_WORDS = r"(?<=[^\W\d_])[\W_]{1,2}(?=[^\W_])|(?<=\d)[\W_]{1,2}(?=[^\W\d_])"
_OF_SERVER = r"(?i)mcp(__|[.:/])(?P<server>.+?)\1(?P<tool>.+)"


def fit_call_names(
    response: LlmResponse, tools: Sequence[JsonObject], withheld: Collection[str] = ()
) -> LlmResponse:
    """The answer with the names of its calls as they were offered, where they are spelled in another way.

    A name that may be one of `withheld` stays as it is.
    """
    offered = [str(tool.get("name")) for tool in tools]
    others = [name for name in withheld if name not in offered]
    return replace(
        response,
        content=tuple(
            _fit_name(block, offered, others) if isinstance(block, ToolUseBlock) else block
            for block in response.content
        ),
    )


def _fit_name(block: ToolUseBlock, offered: Sequence[str], others: Sequence[str]) -> ToolUseBlock:
    if block.name in offered:
        return block
    meant = [name for name in (*offered, *others) if _are_one_name(block.name, name)]
    if len(meant) != 1 or meant[0] in others:
        return block
    said = f"the name {block.name[:80]!r} was read as {meant[0]!r}"
    return replace(block, name=meant[0], repairs=(said, *block.repairs))


def _are_one_name(written: str, offered: str) -> bool:
    """Whether two names are spellings of one; a name that says where that of its server ends is of no other."""
    form = compile_once(_OF_SERVER)
    mine, theirs = form.fullmatch(written), form.fullmatch(offered)
    if mine is not None and theirs is not None:
        return all(_get_letters(mine[part]) == _get_letters(theirs[part]) for part in ("server", "tool"))
    return _get_letters(written) == _get_letters(offered)


def _get_letters(name: str) -> str:
    return compile_once(_BETWEEN_WORDS).sub("", name.lower())


_LONGEST_ID = 64
_LONGEST_NAME = 64
_ODD_IN_NAME = r"[^a-zA-Z0-9_-]"


class SentIds:
    """The ids under which calls are sent: the provider's own where they will do.

    `odd` are the characters that an API does not accept; `anew` tells that it wants no id twice in a request.
    The same history always gives the same ids, so that what is cached of it stays good.
    """

    def __init__(self, *, odd: re.Pattern[str] | None = None, anew: bool = True) -> None:
        self._odd = odd
        self._anew = anew
        self._given: set[str] = set()
        self._of_native: dict[str, str] = {}

    def get_call_id(self, native: str) -> str:
        """The id of the next call of this native id."""
        fit = self._fit(native)
        chosen, number = fit, 1
        while self._anew and chosen in self._given:
            number += 1
            chosen = f"{fit[: _LONGEST_ID - 8]}_{number}"
        self._given.add(chosen)
        self._of_native[native] = chosen
        return chosen

    def get_result_id(self, native: str) -> str:
        """The id of the call that a result belongs to: the last one of this native id."""
        return self._of_native.get(native) or self._fit(native)

    def _fit(self, native: str) -> str:
        fit = self._odd.sub("_", native) if self._odd else replace_surrogates(native)
        if 0 < len(fit) <= _LONGEST_ID:
            return fit
        return f"call_{hashlib.sha256(native.encode(errors='surrogatepass')).hexdigest()[:32]}"


def clean_tool_name(name: str) -> str:
    """A tool's name as every API accepts it: models also call tools of names that no tool may have."""
    return compile_once(_ODD_IN_NAME).sub("_", name)[:_LONGEST_NAME] or "_"


def fill_empty_prompt(text: str) -> str:
    """What the person said; an empty message would be refused, and to leave it out would join two answers."""
    return replace_surrogates(text) if text.strip() else "(empty message)"


def fill_empty_output(text: str) -> str:
    """What a tool answered, or that it answered nothing."""
    return replace_surrogates(text) if text.strip() else "(no output)"
